/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shortest Job First (Zhang 2020): r. */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return facts->requested_s;
}

const struct job_order job_order_sjf = {.key = key};

const struct policy_ops policy_sjf = {
	.name = "sjf",
	.section = "Zhang 2020",
	.summary = "Shortest Job First",
	.order = &job_order_sjf,
	.planning = &order_planning,
};
