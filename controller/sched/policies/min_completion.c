/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The baselines that use expected times only (Gentry 2019, VI.C.1 to 3). In every round each
 * waiting task is paired with the machine where its expected end is earliest, then every machine
 * whose queue is not full takes one of its pairs: MM the task that ends first, MSD the task with
 * the soonest deadline (ties: the first to end), MMU the most urgent task. Rounds are repeated
 * until all queues are full or no task waits.
 *
 * Urgency is 1 / (deadline - expected end). Without slack it is infinite, and of such tasks the
 * task with the least slack comes last. Cost: tasks x machines per round.
 */
#include <errno.h>

#include "controller/sched/policies/queue_order.h"
#include "controller/sched/policies/registry.h"

enum { VARIANT_MM, VARIANT_MSD, VARIANT_MMU };

static double slack(const struct queueing_task *task)
{
	return (double)task->deadline - task->pairs[task->machine].end;
}

/* Above 0 if a task is more urgent than another, below 0 if less, 0 if equally urgent. */
static int compare_urgency(const struct queueing_task *task, const struct queueing_task *other)
{
	const double a = slack(task), b = slack(other);

	if ((a <= 0) != (b <= 0))
		return a <= 0 ? 1 : -1;
	if (a == b)
		return 0;
	return (a < b) == (a > 0) ? 1 : -1;
}

static bool goes_before(const struct queueing *queueing, const struct queueing_task *task,
			const struct queueing_task *other)
{
	switch (queueing->policy->ops->variant) {
	case VARIANT_MSD:
		if (task->deadline != other->deadline)
			return task->deadline < other->deadline;
		break;
	case VARIANT_MMU:
		if (compare_urgency(task, other) != 0)
			return compare_urgency(task, other) > 0;
		break;
	default:
		break;
	}
	return queue_order_ends_first(queueing, task, other);
}

/* Writes the best pair of every machine to `best`; NULL: none. Returns whether there is any. */
static bool pair(struct queueing *queueing, struct queueing_task **best)
{
	bool any = false;

	for (uint32_t m = 0; m < queueing->machines_count; m++)
		best[m] = NULL;
	for (uint32_t i = 0; i < queueing->tasks_count; i++) {
		struct queueing_task *task = &queueing->tasks[i];

		if (task->out || !queue_order_soonest(queueing, task) ||
		    queueing_defers(queueing, task, task->machine))
			continue;
		any = true;
		if (!best[task->machine] || goes_before(queueing, task, best[task->machine]))
			best[task->machine] = task;
	}
	return any;
}

static int decide(struct queueing *queueing)
{
	static const enum sched_reason reasons[] = {
		[VARIANT_MM] = SCHED_REASON_MIN_COMPLETION,
		[VARIANT_MSD] = SCHED_REASON_SOONEST_DEADLINE,
		[VARIANT_MMU] = SCHED_REASON_MOST_URGENT,
	};
	struct queueing_task **best = arena_array(queueing->arena, queueing->machines_count,
						  sizeof(struct queueing_task *));
	int result = best ? queueing_load(queueing, 0) : -ENOMEM;

	while (result == 0 && pair(queueing, best))
		for (uint32_t m = 0; result == 0 && m < queueing->machines_count; m++)
			if (best[m])
				result = queueing_enqueue(queueing, best[m], m,
							  queueing_deferral(queueing,
									    best[m]->task->row),
							  reasons[queueing->policy->ops->variant]);
	return result;
}

static const struct policy_queueing queueing = {.decide = decide};

#define POLICY(title, paper, kind, does)                                                           \
	{                                                                                          \
		.name = title, .section = paper, .summary = does, .variant = kind,                 \
		.queueing = &queueing,                                                             \
	}

const struct policy_ops policies_min_completion[] = {
	POLICY("mm", "Gentry 2019, VI.C.1", VARIANT_MM,
	       "MinCompletion-MinCompletion: on every machine the first to end"),
	POLICY("msd", "Gentry 2019, VI.C.2", VARIANT_MSD,
	       "MinCompletion-Soonest Deadline: of those that end first on a machine"),
	POLICY("mmu", "Gentry 2019, VI.C.3", VARIANT_MMU,
	       "MinCompletion-MaxUrgency: the least slack of those that end first on a machine"),
};
