/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The orders that papers compare with (job_order.h), and value per watt: the waiting tasks are
 * taken in the order instead of by arrival, each to the cluster where it can start earliest at
 * P-state 0, as under FCFS (fcfs.h). Nothing overtakes the first task that has to wait, which gets
 * a place-holder, so that another one can be first at the next event. With +easy tasks may overtake
 * it that do not delay its planned start.
 *
 * r and n are the execution time and the nodes of a task where it is fastest at P-state 0, s its
 * arrival, w the time since. Tasks with a higher priority come first; equal keys (rank_key.h) keep
 * the order of the snapshot.
 *
 * Cost: fcfs.h, and n log n to sort.
 */
#include <errno.h>
#include <stdlib.h>

#include "controller/sched/fcfs.h"
#include "controller/sched/job_order.h"
#include "controller/sched/policies/registry.h"
#include "controller/sched/rank_key.h"

/* A task and its key. */
struct ranked {
	const struct sched_task *task;
	double key;
	uint32_t index; /* in the snapshot's order */
};

/* policy_ops.variant: an order, or this. */
#define VALUE_PER_WATT JOB_ORDERS_COUNT

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

/* The most utility per watt that a task has if it starts now, negated. */
static double value_key(const struct mapping *mapping, const struct sched_task *task)
{
	const double now_s = mapping->snapshot->now_s;
	double best = 0;
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(mapping->system, task->row, &count);

	for (uint32_t i = 0; i < count; i++) {
		const double value = sched_task_utility(task, now_s + options[i].etc_s);

		if (options[i].pstate == 0 && value > 0)
			best = fmax(best, value / (options[i].eec_j / options[i].etc_s));
	}
	return -best;
}

static double order_key(const struct mapping *mapping, const struct sched_task *task,
			const struct job_order *order)
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

	return order->key(&facts);
}

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

static int decide(struct mapping *mapping)
{
	const uint32_t variant = mapping->policy->ops->variant;
	const uint32_t count = mapping->tasks_count;
	struct ranked *ranked = arena_array(mapping->arena, count, sizeof(*ranked));

	if (!ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sched_task *task = mapping->tasks[i];
		const double key = variant == VALUE_PER_WATT
					   ? value_key(mapping, task)
					   : order_key(mapping, task, &job_orders[variant]);

		ranked[i] = (struct ranked){.task = task, .key = rank_key(key), .index = i};
	}
	qsort(ranked, count, sizeof(*ranked), compare);
	for (uint32_t i = 0; i < count; i++)
		mapping->tasks[i] = ranked[i].task;
	if (!mapping->policy->backfills)
		return fcfs_map_in_turn(mapping);
	return fcfs_map(mapping, mapping->snapshot->reservations_count > 0 ? 0 : 1);
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.cluster_order = true,
	.ordered = true,
	.decide = decide,
};

static const struct policy_planning by_energy = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.by_energy = true,
	.cluster_order = true,
	.ordered = true,
	.decide = decide,
};

#define ORDER(title, index, paper, does)                                                           \
	{                                                                                          \
		.name = title, .section = paper, .summary = does, .variant = index,                \
		.planning = &planning                                                              \
	}

const struct policy_ops policies_orders[] = {
	ORDER("sjf", JOB_ORDER_SJF, "Zhang 2020", "Shortest Job First"),
	ORDER("spf", JOB_ORDER_SPF, "Carastan-Santos 2019", "Shortest Processing time First: sjf"),
	ORDER("sqf", JOB_ORDER_SQF, "Carastan-Santos 2019", "Smallest request First: nodes"),
	ORDER("saf", JOB_ORDER_SAF, "Carastan-Santos 2019", "Smallest Area First: time x nodes"),
	ORDER("wfp3", JOB_ORDER_WFP3, "Tang 2009", "WFP3: first what is wide and waited long"),
	ORDER("unicef", JOB_ORDER_UNICEF, "Tang 2009",
	      "UNICEF: first what is narrow and waited long"),
	ORDER("f1", JOB_ORDER_F1, "Carastan-Santos 2017", "F1: n log10 r + 870 log10 s"),
	ORDER("f2", JOB_ORDER_F2, "Carastan-Santos 2017", "F2: n sqrt r + 25600 log10 s"),
	ORDER("f3", JOB_ORDER_F3, "Carastan-Santos 2017", "F3: r n + 6860000 log10 s"),
	ORDER("f4", JOB_ORDER_F4, "Carastan-Santos 2017", "F4: r sqrt n + 530000 log10 s"),
	{
		.name = "value-per-watt",
		.section = "after Kumbhare 2020",
		.summary = "first what has the most utility per watt of dynamic power",
		.variant = VALUE_PER_WATT,
		.planning = &by_energy,
	},
};
