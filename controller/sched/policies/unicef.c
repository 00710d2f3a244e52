/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * UNICEF (Tang 2009), first what is narrow and waited long for its time: -w / (r log2 n).
 *
 * log2(n) is 0 for n = 1. LEAST is added to w and to n, as by the program of Zhang 2020: serial
 * jobs go before all others from the first moment that they have waited, and among themselves by
 * w / r. At the instant of its submission, w = 0, a serial job has the key -0.62 / r, and may go
 * behind wider jobs that have waited.
 */
#include <math.h>

#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

#define LEAST 1e-15

static double key(const struct job_order_facts *facts)
{
	return -(facts->waited_s + LEAST) / (log2(facts->processors + LEAST) * facts->requested_s);
}

const struct job_order job_order_unicef = {.waits = true, .key = key};

const struct policy_ops policy_unicef = {
	.name = "unicef",
	.section = "Tang 2009",
	.summary = "UNICEF: first what is narrow and waited long",
	.order = &job_order_unicef,
	.planning = &order_planning,
};
