/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max UPT (Machovec 2018, 3.5): always the option with the highest utility per execution time,
 * equation (3), of all mappable tasks, clusters and P-states. Cost: greedy.h.
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"
#include "controller/sched/preempt.h"

static int decide(struct mapping *mapping)
{
	return greedy_map(mapping, GREEDY_UPT, mapping->flags & POLICY_TRIM);
}

/* Max UPT of Machovec 2017 (III.D): idle nodes only. */
static int decide_immediate(struct immediate *immediate)
{
	return preempt_map(immediate, OBJECTIVE_UPT, PREEMPT_NEVER);
}

const struct policy_ops policy_max_upt = {
	.name = "max-upt",
	.section = "Machovec 2018, 3.5",
	.summary = "Max UPT: always the option with the highest utility per execution time",
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.decide = decide,
	.decide_immediate = decide_immediate,
	.immediate_section = "Machovec 2017, III.D",
	.immediate_summary = "the same over idle nodes, from now on",
};
