/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative Backfilling (Machovec 2018, 3.4.3): every task starts now or gets a permanent
 * reservation, in order of arrival (in a service, reservations are recomputed when nodes become
 * free unexpectedly). So reservations hold unless a task outlives its estimate or nodes go down:
 * the engine then records the tasks that start later ("overdue"). In the replay of traces
 * reservations also move up (controller/replay/). P-state 0. Cost: fcfs.h.
 */
#include "controller/sched/fcfs.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	return fcfs_map(mapping, UINT32_MAX);
}

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_RESERVATIONS,
	.future_fixed = true,
	.cluster_order = true,
	.decide = decide,
};

const struct policy_ops policy_conservative = {
	.name = "conservative",
	.section = "Machovec 2018, 3.4.3",
	.summary = "Conservative Backfilling: in order of arrival, a reservation for every task",
	.planning = &planning,
};
