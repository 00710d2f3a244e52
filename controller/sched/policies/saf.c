/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Smallest Area First (Carastan-Santos 2019): r n. */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return facts->requested_s * facts->processors;
}

const struct job_order job_order_saf = {.key = key};

const struct policy_ops policy_saf = {
	.name = "saf",
	.section = "Carastan-Santos 2019",
	.summary = "Smallest Area First: time x nodes",
	.order = &job_order_saf,
	.planning = &order_planning,
};
