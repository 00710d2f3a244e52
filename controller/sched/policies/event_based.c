/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event-based metaheuristic (Machovec 2018, 3.6.2): Max UPE if the energy consumed and
 * committed so far is above the goal of an even consumption over the day, else Max UPR. Cost:
 * theirs (greedy.h), and one sum over running tasks and planned starts (energy_target.h).
 */
#include "controller/sched/energy_target.h"
#include "controller/sched/greedy.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	const bool above = energy_target_exceeded(mapping->snapshot);
	const bool trim = mapping->flags & POLICY_TRIM && energy_target_next_is_certain(mapping);

	mapping->note = above ? "max-upe" : "max-upr";
	return greedy_map(mapping, above ? GREEDY_UPE : GREEDY_UPR, trim);
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.future_fixed = true,
	.reads_budget = true,
	.decide = decide,
};

const struct policy_ops policy_event_based = {
	.name = "event-based",
	.section = "Machovec 2018, 3.6.2",
	.summary = "Event-Based: Max UPE while consumption runs ahead of the budget, else Max UPR",
	.planning = &planning,
};
