/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First come, first served: the head starts as soon as it fits, and nothing overtakes it. */
#include "controller/replay/replay_sim.h"

const struct replay_policy replay_fcfs = {
	.name = "fcfs",
	.pass = replay_start_heads,
};
