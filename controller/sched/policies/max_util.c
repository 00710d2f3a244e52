/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max Util (paper 002, 3.5): always the option with the highest utility, equation (2), of
 * all mappable tasks, clusters and P-states. Cost: greedy.h.
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	return greedy_map(mapping, GREEDY_UTIL, mapping->flags & POLICY_TRIM);
}

const struct policy_ops policy_max_util = {
	.name = "max-util",
	.section = "002, 3.5",
	.summary = "Max Util: always the option with the highest utility",
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.decide = decide,
};
