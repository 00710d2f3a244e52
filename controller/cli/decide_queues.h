/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/model.h"

/* What `virtbed decide` prints of systems whose machines have queues (Gentry 2019). */

/* The actions of a plan, with chances and thresholds. */
void decide_queues_print(const struct sched_system *system, const struct sched_plan *plan);

/*
 * Of a plan that was explained: how every task that was queued before was judged, and the chances of
 * every waiting task on every machine.
 */
void decide_queues_explain(const struct sched_system *system, const struct sched_plan *plan);
