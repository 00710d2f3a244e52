/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Util and Max UPT with the three preemption techniques (Machovec 2017, III.E and III.F), on
 * systems of any kind: running tasks may be suspended for tasks of higher value, and no starts are
 * planned. The rules and the cost are in preempt.h and preempt_pair.c; the table below maps names
 * to variants.
 */
#include "controller/sched/policies/registry.h"
#include "controller/sched/preempt.h"

/* policy_ops.variant. */
#define VARIANT(objective, preempt) ((uint32_t)(objective)*16 + (uint32_t)(preempt))

static int decide(struct immediate *immediate)
{
	const uint32_t variant = immediate->policy->ops->variant;

	return preempt_map(immediate, (enum objective)(variant / 16), (enum preempt)(variant % 16));
}

static const struct policy_immediate preempting = {.decide = decide};
static const struct policy_immediate pairing = {.pairs = true, .decide = decide};

#define POLICY(title, objective, measure, technique, preempt, paper, does)                         \
	{                                                                                          \
		.name = title "-preempt-" technique, .section = paper, .summary = measure does,    \
		.variant = VARIANT(objective, preempt),                                            \
		.immediate = (preempt) == PREEMPT_PAIR ? &pairing : &preempting,                   \
	}

#define GREEDY " Preempt Greedy: takes the nodes of tasks that are worth less"
#define DIFF " Preempt Diff: most gained over the tasks that give way"
#define PAIR " Preempt Pair: the order of two tasks that earns more together"

const struct policy_ops policies_preempt[] = {
	POLICY("max-util", OBJECTIVE_UTIL, "Max Util", "greedy", PREEMPT_GREEDY,
	       "Machovec 2017, III.E.2", GREEDY),
	POLICY("max-util", OBJECTIVE_UTIL, "Max Util", "diff", PREEMPT_DIFF,
	       "Machovec 2017, III.E.3", DIFF),
	POLICY("max-util", OBJECTIVE_UTIL, "Max Util", "pair", PREEMPT_PAIR,
	       "Machovec 2017, III.E.4", PAIR),
	POLICY("max-upt", OBJECTIVE_UPT, "Max UPT", "greedy", PREEMPT_GREEDY,
	       "Machovec 2017, III.F", GREEDY),
	POLICY("max-upt", OBJECTIVE_UPT, "Max UPT", "diff", PREEMPT_DIFF, "Machovec 2017, III.F",
	       DIFF),
	POLICY("max-upt", OBJECTIVE_UPT, "Max UPT", "pair", PREEMPT_PAIR, "Machovec 2017, III.F",
	       PAIR),
};
