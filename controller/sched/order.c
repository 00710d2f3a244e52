/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/order.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/sched/fcfs.h"
#include "controller/sched/rank_key.h"

/* A task and its key. */
struct ranked {
	const struct sched_task *task;
	double key;
	uint32_t index; /* in the snapshot's order */
};

static int compare(const void *left, const void *right)
{
	const struct ranked *a = left;
	const struct ranked *b = right;

	if (a->task->priority != b->task->priority)
		return a->task->priority > b->task->priority ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

int order_map(struct mapping *mapping,
	      double (*key)(const struct mapping *mapping, const struct sched_task *task))
{
	const uint32_t count = mapping->tasks_count;
	struct ranked *ranked = arena_array(mapping->arena, count, sizeof(*ranked));

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sched_task *task = mapping->tasks[i];

		ranked[i] = (struct ranked){
			.task = task,
			.key = rank_key(key(mapping, task)),
			.index = i,
		};
	}
	qsort(ranked, count, sizeof(*ranked), compare);
	for (uint32_t i = 0; i < count; i++)
		mapping->tasks[i] = ranked[i].task;
	if (!mapping->policy->backfills)
		return fcfs_map_in_turn(mapping);
	return fcfs_map(mapping, mapping->snapshot->reservations_count > 0 ? 0 : 1);
}

/* The fastest option at P-state 0; NULL: none. */
static const struct sched_option *fastest(const struct sched_system *system, uint32_t row)
{
	const struct sched_option *best = NULL;
	uint32_t count;
	const struct sched_option *options = sched_system_options(system, row, &count);

	for (uint32_t i = 0; i < count; i++)
		if (options[i].pstate == 0 && (!best || options[i].etc_s < best->etc_s))
			best = &options[i];
	return best;
}

static double key_of_order(const struct mapping *mapping, const struct sched_task *task)
{
	const struct sched_option *option = fastest(mapping->system, task->row);

	if (!option)
		return (double)INFINITY;

	const struct job_order_facts facts = {
		.waited_s = mapping->snapshot->now_s - task->arrival_s,
		.requested_s = option->etc_s,
		.processors = option->nodes,
		.submitted_s = task->arrival_s,
	};

	return mapping->policy->ops->order->key(&facts);
}

static int decide(struct mapping *mapping)
{
	return order_map(mapping, key_of_order);
}

const struct policy_planning order_planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.cluster_order = true,
	.ordered = true,
	.decide = decide,
};
