/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max UPR (Machovec 2018, 3.5): always the option with the highest utility per core-second,
 * equation (4), of all mappable tasks, clusters and P-states. Cost: greedy.h.
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	return greedy_map(mapping, GREEDY_UPR, mapping->flags & POLICY_TRIM);
}

const struct policy_ops policy_max_upr = {
	.name = "max-upr",
	.section = "Machovec 2018, 3.5",
	.summary = "Max UPR: always the option with the highest utility per core-second",
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.decide = decide,
};
