/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The task-based metaheuristic (Machovec 2018, 3.6.3): begins an event as Event-Based does. With
 * Max UPR it adds up the energy of the tasks that it assigns, and switches to Max UPE when the sum
 * reaches the goal. The sum is that of the present mapping: the place-holders of the last event,
 * which count for the choice at the beginning, are dropped by then. Cost: Max UPR and Max UPE
 * (greedy.h), and one sum over running tasks and planned starts (energy_target.h).
 */
#include "controller/sched/energy_target.h"
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	const struct sched_snapshot *snapshot = mapping->snapshot;
	const bool trim = mapping->flags & POLICY_TRIM && energy_target_next_is_certain(mapping);
	bool switched;
	int result;

	if (energy_target_exceeded(snapshot)) {
		mapping->note = "max-upe";
		return greedy_map(mapping, GREEDY_UPE, trim);
	}
	result = greedy_map_switching(mapping, energy_target_committed_j(snapshot, false),
				      energy_target_j(snapshot, snapshot->now_s), trim, &switched);
	mapping->note = switched ? "max-upr, then max-upe" : "max-upr";
	return result;
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.future_fixed = true,
	.reads_budget = true,
	.decide = decide,
};

const struct policy_ops policy_task_based = {
	.name = "task-based",
	.section = "Machovec 2018, 3.6.3",
	.summary = "Task-Based: Max UPR until what is assigned reaches the goal, then Max UPE",
	.planning = &planning,
};
