/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Util, Max UPT, Max UPR and Max UPE (Machovec 2018, 3.5): always the option with the highest
 * value of an objective measure, equations (2) to (5), of all mappable tasks, clusters and
 * P-states. Cost: greedy.h. The first two also exist over idle nodes only (Machovec 2017, III.D).
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"
#include "controller/sched/preempt.h"

/* policy_ops.variant is the enum greedy_objective. */
static int decide(struct mapping *mapping)
{
	return greedy_map(mapping, (enum greedy_objective)mapping->policy->ops->variant,
			  mapping->flags & POLICY_TRIM);
}

/* Machovec 2017, III.D; Algorithm 1 for Max Util: idle nodes only. */
static int decide_immediate(struct immediate *immediate)
{
	return preempt_map(immediate,
			   immediate->policy->ops->variant == GREEDY_UPT ? OBJECTIVE_UPT
									 : OBJECTIVE_UTIL,
			   PREEMPT_NEVER);
}

#define POLICY(title, objective, measure, does)                                                    \
	.name = title, .section = "Machovec 2018, 3.5",                                            \
	.summary = measure ": always the option with the highest utility" does,                    \
	.future = POLICY_FUTURE_PLACEHOLDERS, .variant = objective, .decide = decide

#define IMMEDIATE                                                                                  \
	.decide_immediate = decide_immediate, .immediate_section = "Machovec 2017, III.D",         \
	.immediate_summary = "the same over idle nodes, from now on"

const struct policy_ops policies_max[] = {
	{POLICY("max-util", GREEDY_UTIL, "Max Util", ""), IMMEDIATE},
	{POLICY("max-upt", GREEDY_UPT, "Max UPT", " per execution time"), IMMEDIATE},
	{POLICY("max-upr", GREEDY_UPR, "Max UPR", " per core-second")},
	{POLICY("max-upe", GREEDY_UPE, "Max UPE", " per joule"), .by_energy = true},
};
