/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Smallest request First (Carastan-Santos 2019): n. */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return facts->processors;
}

const struct job_order job_order_sqf = {.key = key};

const struct policy_ops policy_sqf = {
	.name = "sqf",
	.section = "Carastan-Santos 2019",
	.summary = "Smallest request First: nodes",
	.order = &job_order_sqf,
	.planning = &order_planning,
};
