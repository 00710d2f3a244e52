/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max UPE (Machovec 2018, 3.5): always the option with the highest utility per joule, equation (5),
 * of all mappable tasks, clusters and P-states. Cost: greedy.h.
 */
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	return greedy_map(mapping, GREEDY_UPE, mapping->flags & POLICY_TRIM);
}

const struct policy_ops policy_max_upe = {
	.name = "max-upe",
	.section = "Machovec 2018, 3.5",
	.summary = "Max UPE: always the option with the highest utility per joule",
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.by_energy = true,
	.decide = decide,
};
