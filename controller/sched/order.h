/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/job_order.h"
#include "controller/sched/mapping.h"

/*
 * Policies that take the waiting tasks in an order instead of by arrival, each task to the cluster
 * where it can start earliest at P-state 0, as under FCFS (fcfs.h). Nothing overtakes the first
 * task that has to wait, which gets a place-holder, so that another one can be first at the next
 * event. With +easy tasks may overtake it that do not delay its planned start.
 */

/*
 * Maps the waiting tasks by their keys, the lowest first; tasks with a higher priority come before
 * others, and equal keys (rank_key.h) keep the order of the snapshot. 0 or -ENOMEM. Cost: fcfs.h,
 * n keys, and n log n to sort.
 */
int order_map(struct mapping *mapping,
	      double (*key)(const struct mapping *mapping, const struct sched_task *task));

/*
 * Of policies with policy_ops.order. r and n of the order's formula are the execution time and the
 * nodes of a task where it is fastest at P-state 0, s its arrival, w the time since.
 */
extern const struct policy_planning order_planning;
