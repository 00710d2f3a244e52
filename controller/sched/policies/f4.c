/* SPDX-License-Identifier: GPL-3.0-or-later */
/* F4 (Carastan-Santos 2017), learned: r sqrt n + 530000 log10 s. */
#include <math.h>

#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return facts->requested_s * sqrt(facts->processors) +
	       530000 * job_order_log10(facts->submitted_s);
}

const struct job_order job_order_f4 = {.key = key};

const struct policy_ops policy_f4 = {
	.name = "f4",
	.section = "Carastan-Santos 2017",
	.summary = "F4: r sqrt n + 530000 log10 s",
	.order = &job_order_f4,
	.planning = &order_planning,
};
