/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FCFS with multiple queues (Machovec 2018, 3.4.5): Conservative Backfilling that takes turns among
 * three queues. A task's resources at P-state 0, averaged over the clusters that can run it, are
 * compared with those of the task that needs most in the system: below 30 % it is small, above 60 %
 * large. A round assigns at most one large task, then four medium, then eight small ones; a task
 * that cannot be assigned is passed over and costs no turn. Cost: fcfs.h.
 */
#include "controller/sched/fcfs.h"
#include "controller/sched/policies/registry.h"
#include "controller/sched/rank_key.h"

enum queue { QUEUE_LARGE, QUEUE_MEDIUM, QUEUE_SMALL, QUEUES };

static const uint32_t turns[QUEUES] = {[QUEUE_LARGE] = 1, [QUEUE_MEDIUM] = 4, [QUEUE_SMALL] = 8};

#define SMALL_BELOW 0.3
#define LARGE_ABOVE 0.6

static enum queue queue_of(const struct sched_system *system, const struct sched_task *task)
{
	const double resources = system->rows[task->row].resources_mean;
	const double most = system->resources_max;

	if (rank_key_compare(resources, SMALL_BELOW * most) < 0)
		return QUEUE_SMALL;
	return rank_key_compare(resources, LARGE_ABOVE * most) > 0 ? QUEUE_LARGE : QUEUE_MEDIUM;
}

/* Tries one task. Sets *ret_assigned. Returns 0, or -ENOMEM. */
static int assign_task(struct mapping *mapping, const struct sched_task *task, bool *ret_assigned)
{
	const struct fcfs_place place = fcfs_find(mapping, task);
	const int result = fcfs_explain(mapping, task, &place);

	*ret_assigned = result == 0 && place.refusal == SCHED_REFUSAL_TAKEN;
	if (!*ret_assigned)
		return result;
	return mapping_place(mapping, task, place.option, 0,
			     place.start_s > mapping->snapshot->now_s ? SCHED_REASON_EARLIEST
								      : SCHED_REASON_FIRST);
}

static int decide(struct mapping *mapping)
{
	uint32_t next[QUEUES] = {0}; /* next index of each queue in the list of all tasks */
	uint32_t left = mapping->tasks_count;
	int result = 0;

	while (left > 0) {
		for (enum queue queue = QUEUE_LARGE; queue < QUEUES; queue++) {
			uint32_t assigned = 0;

			while (next[queue] < mapping->tasks_count && assigned < turns[queue]) {
				const struct sched_task *task = mapping->tasks[next[queue]++];
				bool done;

				if (queue_of(mapping->system, task) != queue)
					continue;
				left--;
				result = assign_task(mapping, task, &done);
				if (result < 0)
					return result;
				assigned += done;
			}
		}
	}
	return 0;
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_RESERVATIONS,
	.future_fixed = true,
	.cluster_order = true,
	.decide = decide,
};

const struct policy_ops policy_fcfs_multi_queue = {
	.name = "fcfs-multi-queue",
	.section = "Machovec 2018, 3.4.5",
	.summary = "FCFS with three queues by size in turns, a reservation for every task",
	.planning = &planning,
};
