/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/policies/queue_order.h"

#include "controller/sched/rank_key.h"

bool queue_order_likeliest(const struct queueing *queueing, struct queueing_task *task)
{
	const struct queueing_pair *best = NULL;

	for (uint32_t m = 0; m < queueing->machines_count; m++) {
		const struct queueing_pair *pair = &task->pairs[m];

		if (!queueing_has_place(queueing, m))
			continue;
		if (best && (pair->chance < best->chance ||
			     (pair->chance == best->chance && pair->end >= best->end)))
			continue;
		best = pair;
		task->machine = m;
	}
	return best;
}

bool queue_order_soonest(const struct queueing *queueing, struct queueing_task *task)
{
	const struct queueing_pair *best = NULL;

	for (uint32_t m = 0; m < queueing->machines_count; m++) {
		if (!queueing_has_place(queueing, m) || (best && task->pairs[m].end >= best->end))
			continue;
		best = &task->pairs[m];
		task->machine = m;
	}
	return best;
}

bool queue_order_ends_first(const struct queueing *queueing, const struct queueing_task *task,
			    const struct queueing_task *other)
{
	const double end = task->pairs[task->machine].end;
	const double other_end = other->pairs[other->machine].end;
	int order;

	if (end != other_end)
		return end < other_end;
	order = rank_key_compare(queueing_exec(queueing, task->task, task->machine)->mean,
				 queueing_exec(queueing, other->task, other->machine)->mean);
	if (order != 0)
		return order < 0;
	if (task->task->arrival_s != other->task->arrival_s)
		return task->task->arrival_s < other->task->arrival_s;
	return task->task->id < other->task->id;
}
