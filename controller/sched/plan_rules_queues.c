/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clusters with queues. */
#include "controller/sched/plan_rules_models.h"

/* The state of a check. */
struct queues {
	struct rules *rules;
	uint32_t *lengths; /* per cluster */
	bool *down;        /* per cluster: one of its nodes is */
};

static bool check_enqueue(struct queues *queues, uint32_t action, const struct rules_task *task)
{
	struct rules *rules = queues->rules;
	const struct sched_action *asked = &rules->plan->actions[action];
	const uint32_t most = rules->system->queueing->length;
	const char *name;

	if (task->list != RULES_WAITING)
		return rules_refuse_list(rules, action, task);
	if (!rules_check_cluster(rules, action))
		return false;
	name = rules->system->clusters[asked->cluster].name;
	if (!sched_system_option(rules->system, task->task->row, asked->cluster, 0))
		return rules_refuse(rules, action, "it cannot run in cluster \"%s\"", name);
	if (queues->down[asked->cluster])
		return rules_refuse(rules, action, "cluster \"%s\" takes no tasks: a node is down",
				    name);
	if (queues->lengths[asked->cluster] >= most)
		return rules_refuse(rules, action, "the queue of cluster \"%s\" is full: %u tasks",
				    name, most);
	queues->lengths[asked->cluster]++;
	return (isfinite(asked->start_s) && isfinite(asked->end_s)) ||
	       rules_refuse(rules, action, "its start_s or end_s is not a number");
}

static bool check_action(struct queues *queues, uint32_t action)
{
	struct rules *rules = queues->rules;
	const struct sched_action *asked = &rules->plan->actions[action];
	struct rules_task *task = rules_task_of(rules, action);

	if (!task)
		return false;
	task->ended = true;
	if (!(asked->chance >= 0 && asked->chance <= 1))
		return rules_refuse(rules, action, "its chance is %g: give one from 0 to 1",
				    asked->chance);
	if (!(asked->threshold >= 0 && asked->threshold <= 1))
		return rules_refuse(rules, action, "its threshold is %g: give one from 0 to 1",
				    asked->threshold);
	if (asked->kind == SCHED_ACTION_ENQUEUE)
		return check_enqueue(queues, action, task);
	if (asked->kind != SCHED_ACTION_DROP)
		return rules_refuse(rules, action, "tasks are queued or dropped in this system");
	if (task->list == RULES_QUEUED)
		queues->lengths[task->cluster]--;
	return task->list == RULES_WAITING || task->list == RULES_QUEUED ||
	       rules_refuse_list(rules, action, task);
}

bool rules_check_queues(struct rules *rules)
{
	const struct sched_snapshot *snapshot = rules->snapshot;
	const uint32_t clusters = rules->system->clusters_count;
	struct queues queues = {
		.rules = rules,
		.lengths = rules_array(rules, clusters, sizeof(*queues.lengths)),
		.down = rules_array(rules, clusters, sizeof(*queues.down)),
	};

	if (!queues.lengths || !queues.down)
		return false;
	for (uint32_t c = 0; c < clusters; c++)
		queues.lengths[c] = snapshot->queues[c].count;
	for (uint32_t i = 0; i < snapshot->down_count; i++)
		queues.down[snapshot->down[i].cluster] = true;
	for (uint32_t i = 0; i < rules->plan->actions_count; i++)
		if (!check_action(&queues, i))
			return false;
	return (rules->plan->pruner.level >= 0 && isfinite(rules->plan->pruner.level)) ||
	       rules_refuse(rules, UINT32_MAX, "the oversubscription level is %g",
			    rules->plan->pruner.level);
}
