/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/sched/policy.h"

/*
 * A policy of the tree as a scheduler of Batsim: messages of the JSON protocol of Batsim 2 to 4 in,
 * decisions out; no I/O. Docs: docs/reference/batsim.md. The machine is one cluster of
 * equal nodes, a job is a task whose estimate is its walltime, a node uses 1 W while it computes,
 * and every task is worth the same whenever it completes.
 */
struct batsim_scheduler;

/*
 * `policy` is copied. With `immediate` no start is planned, as in an environment of serial tasks. NULL
 * with `error` (BATSIM_ERROR): the policy does not decide there.
 */
struct batsim_scheduler *batsim_scheduler_new(const struct policy *policy, bool immediate,
					      GError **error);

/* NULL is allowed. */
void batsim_scheduler_free(struct batsim_scheduler *scheduler);
typedef struct batsim_scheduler batsim_scheduler_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(batsim_scheduler_t, batsim_scheduler_free)

/*
 * The answer to a message, which the caller frees. *ret_over becomes true at the end of the
 * simulation. NULL with `error` (BATSIM_ERROR, JSON_ERROR): the message cannot be understood.
 */
char *batsim_scheduler_answer(struct batsim_scheduler *scheduler, const char *message,
			      bool *ret_over, GError **error);

/*
 * Answers at a ZeroMQ endpoint that is bound ("tcp://127.0.0.1:28000", "ipc:///run/socket") until the
 * simulation is over, one of Batsim 2 to 5: the first message tells which. False with `error`, also
 * where virtbed was built without libzmq.
 */
bool batsim_scheduler_serve(struct batsim_scheduler *scheduler, const char *endpoint,
			    GError **error);
