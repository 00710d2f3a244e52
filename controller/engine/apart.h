/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/sched/policy.h"

/*
 * A policy that decides on a thread of its own, on a copy of the snapshot, while whoever asked goes on:
 * for a service, whose people wait for answers meanwhile. One decision at a time. But for the thread all
 * is called from one and the same.
 */
struct apart;

/* What came of it; all of it belongs to the struct apart until the next question. */
struct apart_answer {
	const struct policy *policy;           /* who was asked */
	const struct sched_snapshot *snapshot; /* the copy that it is about */
	const struct sched_plan *plan;
	double decide_s;  /* processor time */
	double asked_s;   /* g_get_monotonic_time() in seconds, when it was asked for */
};

/* What is to be done with a decision on the thread that made it; the arguments are lent. */
typedef void (*apart_decided_f)(const struct policy *policy, const struct sched_snapshot *snapshot,
				const struct sched_plan *plan, void *data);

/*
 * `ready` is called when an answer is there, from the default main context, and before that `decided`, from whatever
 * thread decides.
 */
struct apart *apart_new(void (*ready)(void *data), apart_decided_f decided, void *data);

/* Waits for what is being decided, and drops it. NULL is allowed. */
void apart_free(struct apart *apart);

/*
 * Asks `policy` for a plan with `flags` (enum policy_flags). Nothing must be under way, and the system of
 * the snapshot stays as it is until there is an answer; all else is copied. Machines with queues are not
 * for this. Where no thread can be had it is decided before this returns, with a warning.
 */
void apart_ask(struct apart *apart, const struct policy *policy, unsigned int flags,
	       const struct sched_snapshot *snapshot);

/* Whether something is being decided, or was and the answer was not taken yet. */
bool apart_busy(const struct apart *apart);

/* Takes the answer if there is one. */
bool apart_take(struct apart *apart, struct apart_answer *ret_answer);
