/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative Backfilling (Machovec 2018, 3.4.3): every task starts now or gets a permanent
 * reservation, in order of arrival (a service has them made anew when nodes are there that could not be counted on).
 * So what is promised holds but where a task outlives its estimate or nodes go: the engine then records who starts
 * later ("overdue"). Traces have promises that move up (controller/replay/). P-state 0. Cost: fcfs.h.
 */
#include "controller/sched/fcfs.h"
#include "controller/sched/policies/registry.h"

static int decide(struct mapping *mapping)
{
	return fcfs_map(mapping, UINT32_MAX);
}

const struct policy_ops policy_conservative = {
	.name = "conservative",
	.section = "Machovec 2018, 3.4.3",
	.summary = "Conservative Backfilling: in order of arrival, a reservation for every task",
	.future = POLICY_FUTURE_RESERVATIONS,
	.future_fixed = true,
	.cluster_order = true,
	.decide = decide,
};
