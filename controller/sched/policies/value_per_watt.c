/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Value per watt: virtbed's own order in the spirit of Kumbhare 2020. First goes what has the most
 * utility, started now, per watt of its dynamic power.
 */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

/* The most utility per watt that a task has if it starts now, negated. */
static double key(const struct mapping *mapping, const struct sched_task *task)
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

static int decide(struct mapping *mapping)
{
	return order_map(mapping, key);
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.by_energy = true,
	.cluster_order = true,
	.ordered = true,
	.decide = decide,
};

const struct policy_ops policy_value_per_watt = {
	.name = "value-per-watt",
	.section = "after Kumbhare 2020",
	.summary = "first what has the most utility per watt of dynamic power",
	.planning = &planning,
};
