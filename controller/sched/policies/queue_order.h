/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/queueing.h"

/*
 * How policies that queue tasks pair and order them (Gentry 2019, V.D and VI.C). The paper leaves most
 * ties open; here they are broken in one way everywhere.
 */

/*
 * Pairs a task with the machine where it is most likely to be on time; ties: where it is expected to
 * end first, then the first in configured order. Machines without a place do not count. Returns whether
 * there is one.
 */
bool queue_order_likeliest(const struct queueing *queueing, struct queueing_task *task);

/* The same with the machine where it is expected to end first. */
bool queue_order_soonest(const struct queueing *queueing, struct queueing_task *task);

/*
 * Whether a task is expected to end before another, both on the machines they are paired with. Ties:
 * the shorter expected execution, the earlier arrival, the lower id.
 */
bool queue_order_ends_first(const struct queueing *queueing, const struct queueing_task *task,
			    const struct queueing_task *other);
