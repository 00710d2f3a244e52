/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/plan_rules.h"

#include <math.h>

#include "controller/sched/plan_rules_models.h"

/* What a shared object may put into an action, but no JSON. */
static bool check_values(struct rules *rules)
{
	for (uint32_t i = 0; i < rules->plan->actions_count; i++) {
		const struct sched_action *action = &rules->plan->actions[i];

		if (!sched_action_kind_name(action->kind) || action->kind == SCHED_ACTION_NONE)
			return rules_refuse(rules, UINT32_MAX, "actions[%u]: there is no kind %d",
					    rules_entry(rules, i), (int)action->kind);
		if (!sched_reason_text(action->reason))
			return rules_refuse(rules, i, "there is no reason %d", (int)action->reason);
		if (isnan(action->objective))
			return rules_refuse(rules, i, "its objective is not a number");
	}
	return true;
}

const char *plan_rules_broken(const struct sched_snapshot *snapshot, const struct sched_plan *plan,
			      struct arena *arena)
{
	static const char memory[] = "out of memory";
	struct rules rules = {
		.snapshot = snapshot,
		.system = snapshot->system,
		.plan = plan,
		.arena = arena,
		.message = arena_array(arena, RULES_MESSAGE, 1),
	};
	bool legal;

	if (!rules.message)
		return memory;
	if (plan->actions_count > 0 && !plan->actions)
		legal = rules_refuse(&rules, UINT32_MAX, "it has %u actions and no list of them",
				     plan->actions_count);
	else
		legal = check_values(&rules) && rules_list_tasks(&rules) &&
			(rules.system->shared     ? rules_check_sharing(&rules)
			 : rules.system->queueing ? rules_check_queues(&rules)
						  : rules_check_nodes(&rules));
	return legal ? NULL : rules.message;
}
