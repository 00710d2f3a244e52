/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * First come, first served, without overtaking (the queue to which Machovec 2018, 3.4.3 and 3.4.4,
 * add backfilling): fcfs_map_in_turn().
 */
#include "controller/sched/fcfs.h"
#include "controller/sched/immediate_order.h"
#include "controller/sched/policies/registry.h"

static const struct policy_planning planning = {
	.future = POLICY_FUTURE_PLACEHOLDERS,
	.future_fixed = true,
	.cluster_order = true,
	.decide = fcfs_map_in_turn,
};

static const struct policy_immediate immediate = {
	.section = "Machovec 2017, III.C.3",
	.summary = "in order of arrival, the first idle nodes where a task earns something",
	.decide = immediate_fcfs,
};

const struct policy_ops policy_fcfs = {
	.name = "fcfs",
	.section = "Machovec 2018, 3.4.3",
	.summary = "FCFS: strictly in order of arrival, nothing overtakes",
	.planning = &planning,
	.immediate = &immediate,
};
