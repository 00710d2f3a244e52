/* SPDX-License-Identifier: GPL-3.0-or-later */
/* F1 (Carastan-Santos 2017), learned: n log10 r + 870 log10 s. */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return job_order_log10(facts->requested_s) * facts->processors +
	       870 * job_order_log10(facts->submitted_s);
}

const struct job_order job_order_f1 = {.key = key};

const struct policy_ops policy_f1 = {
	.name = "f1",
	.section = "Carastan-Santos 2017",
	.summary = "F1: n log10 r + 870 log10 s",
	.order = &job_order_f1,
	.planning = &order_planning,
};
