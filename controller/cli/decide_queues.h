/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/model.h"

/* The output of `virtbed decide` for systems of queueing clusters (Gentry 2019). */

/* Prints the actions of a plan, with chances and thresholds. */
void decide_queues_print(const struct sched_system *system, const struct sched_plan *plan);

/*
 * Prints the explanation of a plan: the decision about every task that was queued before, and the
 * chance of every waiting task on every queueing cluster.
 */
void decide_queues_explain(const struct sched_system *system, const struct sched_plan *plan);
