/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * First come, first served, without overtaking (the queue to which Machovec 2018, 3.4.3 and 3.4.4,
 * add backfilling). The first task that cannot start now gets a place-holder and all tasks behind
 * it wait. P-state 0. Cost: fcfs.h, and without --explain only up to that task.
 */
#include "controller/sched/fcfs.h"
#include "controller/sched/immediate_order.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	const double now_s = mapping->snapshot->now_s;
	/* Reservations of a policy before this one come first as well. */
	bool blocked = mapping->snapshot->reservations_count > 0;
	int result = 0;

	for (uint32_t i = 0; result == 0 && i < mapping->tasks_count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		struct fcfs_place place;

		if (blocked && !mapping_explains(mapping))
			break;
		place = fcfs_find(mapping, task);
		if (blocked)
			place.refusal = SCHED_REFUSAL_OVERTAKES;
		blocked |= place.start_s != now_s;
		result = fcfs_explain(mapping, task, &place);
		if (result == 0 && place.refusal == SCHED_REFUSAL_TAKEN)
			result = mapping_place(mapping, task, place.option, 0,
					       blocked ? SCHED_REASON_HEAD : SCHED_REASON_FIRST);
	}
	return result;
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.future_fixed = true,
	.cluster_order = true,
	.decide = decide,
};

static const struct policy_immediate immediate = {
	.section = "Machovec 2017, III.C.3",
	.summary = "in order of arrival, the first idle nodes where a task earns something",
	.decide = immediate_fcfs,
};

const struct policy_ops policy_fcfs = {
	.name = "fcfs",
	.section = "Machovec 2018, 3.4.3",
	.summary = "FCFS: strictly in order of arrival, nothing overtakes",
	.planning = &planning,
	.immediate = &immediate,
};
