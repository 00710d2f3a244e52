/* SPDX-License-Identifier: GPL-3.0-or-later */
/* F2 (Carastan-Santos 2017), learned: n sqrt r + 25600 log10 s. */
#include <math.h>

#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return sqrt(facts->requested_s) * facts->processors +
	       25600 * job_order_log10(facts->submitted_s);
}

const struct job_order job_order_f2 = {.key = key};

const struct policy_ops policy_f2 = {
	.name = "f2",
	.section = "Carastan-Santos 2017",
	.summary = "F2: n sqrt r + 25600 log10 s",
	.order = &job_order_f2,
	.planning = &order_planning,
};
