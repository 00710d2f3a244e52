/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pruning-aware mapper PAM and its fair variant PAMF (Gentry 2019, V.D). While the system is
 * oversubscribed, tasks that are unlikely to be on time are dropped from the queues. Then every
 * waiting task is paired with the machine where it is most likely to be on time (ties: where it
 * ends first, then in configured order). Tasks whose pair is below the deferring threshold wait for
 * another event; of the others the task with the earliest expected end is queued (ties: the shorter
 * execution, earlier arrival, lower id), and so on. PAMF lowers both thresholds for types that have
 * suffered.
 *
 * Cost: completion times of the changed parts of queues, then tasks x machines, and for every
 * queued task the tasks once more with one machine.
 */
#include "controller/sched/policies/queue_order.h"
#include "controller/sched/policies/registry.h"

/* The first to end of all pairs that are likely enough; NULL: there is none. */
static struct queueing_task *choose_task(struct queueing *queueing)
{
	struct queueing_task *best = NULL;

	for (uint32_t i = 0; i < queueing->tasks_count; i++) {
		struct queueing_task *task = &queueing->tasks[i];

		if (task->out)
			continue;
		if (!queue_order_likeliest(queueing, task)) {
			queueing_exclude(queueing, task);
			continue;
		}
		/*
		 * Queues only get longer in an event: a chance that is too low stays so. A task
		 * that cannot be on time is not mapped, however much its type has suffered.
		 */
		if (!queueing_reaches(task->pairs[task->machine].chance,
				      queueing_deferral(queueing, task->task->row)) ||
		    task->pairs[task->machine].chance <= 0) {
			queueing_exclude(queueing, task);
			continue;
		}
		if (!best || queue_order_ends_first(queueing, task, best))
			best = task;
	}
	return best;
}

static int decide(struct queueing *queueing)
{
	struct queueing_task *task;
	int result = queueing_load(queueing, QUEUEING_PRUNES | QUEUEING_CHANCES);

	while (result == 0 && (task = choose_task(queueing)))
		result = queueing_enqueue(queueing, task, task->machine,
					  queueing_deferral(queueing, task->task->row),
					  SCHED_REASON_LIKELIEST);
	return result;
}

static const struct policy_queueing plain = {.prunes = true, .evicts = true, .decide = decide};
static const struct policy_queueing fair = {.prunes = true,
					    .evicts = true,
					    .fair = true,
					    .decide = decide};

const struct policy_ops policies_pam[] = {
	{
		.name = "pam",
		.section = "Gentry 2019, V.D.1",
		.summary = "PAM: prunes what is unlikely to be on time, maps what is likely",
		.queueing = &plain,
	},
	{
		.name = "pamf",
		.section = "Gentry 2019, V.D.2",
		.summary = "PAMF: PAM with lower thresholds for types that have suffered",
		.queueing = &fair,
	},
};
