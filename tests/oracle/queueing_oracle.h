/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/policy.h"
#include "controller/check/queueing_snapshots.h"

/*
 * The mappers of Gentry 2019 once more, as plainly as its text and its equations allow:
 * distributions are arrays over absolute time, everything is computed again whenever it is needed,
 * nothing is shared with what is tested but the PMFs of execution times.
 */
struct queueing_plan {
	uint32_t count;
	struct {
		enum sched_action_kind kind;
		uint32_t task;
		uint32_t machine;
		double chance;
		double threshold;
		enum sched_reason reason;
	} actions[2 * QUEUEING_TASKS_MAX];
	double level;
	bool dropping;
};

/* Decides one event. */
void queueing_oracle(const char *policy, const struct sched_snapshot *snapshot,
		     struct queueing_plan *ret_plan);
