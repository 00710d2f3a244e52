/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First come, first served: the head starts as soon as it fits, and nothing overtakes it. */
#include "controller/replay/replay_sim.h"

const struct replay_policy replay_fcfs = {
	.name = "fcfs",
	.order = &job_orders[JOB_ORDER_FCFS],
	.pass = replay_start_heads,
	.pass_rlscheduler = replay_rlscheduler_pass,
};
