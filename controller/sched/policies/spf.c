/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shortest Processing time First (Carastan-Santos 2019): r, as sjf. */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return facts->requested_s;
}

const struct job_order job_order_spf = {.key = key};

const struct policy_ops policy_spf = {
	.name = "spf",
	.section = "Carastan-Santos 2019",
	.summary = "Shortest Processing time First: sjf",
	.order = &job_order_spf,
	.planning = &order_planning,
};
