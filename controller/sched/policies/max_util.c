/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Util (Machovec 2018, 3.5): always the option with the highest utility, equation (2), of
 * all mappable tasks, clusters and P-states. Cost: greedy.h.
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"
#include "controller/sched/preempt.h"

static int decide(struct mapping *mapping)
{
	return greedy_map(mapping, GREEDY_UTIL, mapping->flags & POLICY_TRIM);
}

/* Max Util of Machovec 2017 (III.D, Algorithm 1): idle nodes only. */
static int decide_immediate(struct immediate *immediate)
{
	return preempt_map(immediate, OBJECTIVE_UTIL, PREEMPT_NEVER);
}

const struct policy_ops policy_max_util = {
	.name = "max-util",
	.section = "Machovec 2018, 3.5",
	.summary = "Max Util: always the option with the highest utility",
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.decide = decide,
	.decide_immediate = decide_immediate,
	.immediate_section = "Machovec 2017, III.D",
	.immediate_summary = "the same over idle nodes, from now on",
};
