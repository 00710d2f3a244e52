/* SPDX-License-Identifier: GPL-3.0-or-later */
/* WFP3 (Tang 2009), first what is wide and waited long for its time: -(w/r)^3 n. */
#include <math.h>

#include "controller/sched/order.h"
#include "controller/sched/policies/registry.h"

static double key(const struct job_order_facts *facts)
{
	return -pow(facts->waited_s / facts->requested_s, 3) * facts->processors;
}

const struct job_order job_order_wfp3 = {.waits = true, .key = key};

const struct policy_ops policy_wfp3 = {
	.name = "wfp3",
	.section = "Tang 2009",
	.summary = "WFP3: first what is wide and waited long",
	.order = &job_order_wfp3,
	.planning = &order_planning,
};
