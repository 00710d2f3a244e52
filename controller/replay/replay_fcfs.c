/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First come, first served: the head starts as soon as it fits, and nothing overtakes it. */
#include "controller/replay/replay_sim.h"

static double arrival(const struct job_order_facts *facts)
{
	return facts->submitted_s;
}

const struct job_order replay_arrivals = {.key = arrival};

const struct replay_policy replay_fcfs = {
	.name = "fcfs",
	.order = &replay_arrivals,
	.pass = replay_start_heads,
	.pass_rlscheduler = replay_rlscheduler_pass,
};
