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

static const struct policy_planning planning = {.decide = decide};
static const struct policy_planning by_energy = {.by_energy = true, .decide = decide};

static const struct policy_immediate immediate = {
	.section = "Machovec 2017, III.D",
	.summary = "the same over idle nodes, from now on",
	.decide = decide_immediate,
};

#define POLICY(title, objective, measure, does)                                                    \
	.name = title, .section = "Machovec 2018, 3.5",                                            \
	.summary = measure ": always the option with the highest utility" does,                    \
	.variant = objective

const struct policy_ops policies_max[] = {
	{POLICY("max-util", GREEDY_UTIL, "Max Util", ""), .planning = &planning,
	 .immediate = &immediate},
	{POLICY("max-upt", GREEDY_UPT, "Max UPT", " per execution time"), .planning = &planning,
	 .immediate = &immediate},
	{POLICY("max-upr", GREEDY_UPR, "Max UPR", " per core-second"), .planning = &planning,
	 .reference = true},
	{POLICY("max-upe", GREEDY_UPE, "Max UPE", " per joule"), .planning = &by_energy},
};
