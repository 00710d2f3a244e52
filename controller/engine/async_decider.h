/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/sched/policy.h"

/*
 * A policy that decides on a thread of its own, on a copy of the snapshot, while whoever asked goes on:
 * for a service, whose people wait for answers meanwhile. One decision at a time. But for the thread all
 * is called from one and the same.
 */
struct async_decider;

/* What came of it; all of it belongs to the struct async_decider until the next question. */
struct async_answer {
	const struct policy *policy;           /* who was asked */
	const struct sched_snapshot *snapshot; /* the copy that it is about */
	const struct sched_plan *plan;
	double decide_s;  /* processor time */
	double asked_s;   /* g_get_monotonic_time() in seconds, when it was asked for */
};

/* What is to be done with a decision on the thread that made it; the arguments are lent. */
typedef void (*async_decided_f)(const struct policy *policy, const struct sched_snapshot *snapshot,
				const struct sched_plan *plan, void *data);

/*
 * `ready` is called when an answer is there, from the default main context, and before that `decided`, from whatever
 * thread decides.
 */
struct async_decider *async_decider_new(void (*ready)(void *data), async_decided_f decided, void *data);

/* Waits for what is being decided, and drops it. NULL is allowed. */
void async_decider_free(struct async_decider *decider);

/*
 * Asks `policy` for a plan with `flags` (enum policy_flags). Nothing must be under way, and the system of
 * the snapshot stays as it is until there is an answer; all else is copied. Machines with queues are not
 * for this. Where no thread can be had it is decided before this returns, with a warning.
 */
void async_decider_ask(struct async_decider *decider, const struct policy *policy, unsigned int flags,
	       const struct sched_snapshot *snapshot);

/* Whether something is being decided, or was and the answer was not taken yet. */
bool async_decider_is_busy(const struct async_decider *decider);

/* Takes the answer if there is one. */
bool async_decider_take(struct async_decider *decider, struct async_answer *ret_answer);
