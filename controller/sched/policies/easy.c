/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EASY Backfilling (Machovec 2018, 3.4.4): one permanent reservation in the whole system; all other
 * tasks start now or wait. The reservation stands until it starts, or until nodes become free
 * unexpectedly: then the engine cancels it. P-state 0. Cost: fcfs.h.
 */
#include "controller/sched/fcfs.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	const bool held = mapping->snapshot->reservations_count > 0;

	return fcfs_map(mapping, held ? 0 : 1);
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_RESERVATIONS,
	.future_fixed = true,
	.cluster_order = true,
	.decide = decide,
};

const struct policy_ops policy_easy = {
	.name = "easy",
	.section = "Machovec 2018, 3.4.4",
	.summary = "EASY Backfilling: in order of arrival, one reservation at a time",
	.planning = &planning,
};
