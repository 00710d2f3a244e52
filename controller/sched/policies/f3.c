/* SPDX-License-Identifier: GPL-3.0-or-later */
/* F3 (Carastan-Santos 2017), learned: r n + 6860000 log10 s. */
#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return facts->requested_s * facts->processors +
	       6860000 * job_order_log10(facts->submitted_s);
}

const struct job_order job_order_f3 = {.key = key};

const struct policy_ops policy_f3 = {
	.name = "f3",
	.section = "Carastan-Santos 2017",
	.summary = "F3: r n + 6860000 log10 s",
	.order = &job_order_f3,
	.planning = &order_planning,
};
