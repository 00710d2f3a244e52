/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/queueing.h"

/*
 * How policies with queues pair and order tasks (Gentry 2019, V.D and VI.C). The paper leaves most
 * ties open; here they are broken in one way everywhere.
 */

/*
 * Pairs a task with the machine where it is most likely to be on time; ties: where its expected end
 * is earliest, then the first in configured order. Machines with full queues do not count. Returns
 * whether there is a machine.
 */
bool queue_order_likeliest(const struct queueing *queueing, struct queueing_task *task);

/* Pairs a task with the machine where its expected end is earliest. Ties and result as above. */
bool queue_order_soonest(const struct queueing *queueing, struct queueing_task *task);

/*
 * Whether a task is expected to end before another, both on the machines they are paired with.
 * Ties: the shorter expected execution, the earlier arrival, the lower id.
 */
bool queue_order_ends_first(const struct queueing *queueing, const struct queueing_task *task,
			    const struct queueing_task *other);
