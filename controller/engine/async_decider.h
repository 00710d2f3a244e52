/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/platform.h"
#include "controller/sched/policy.h"

/*
 * Runs a policy on a thread of its own, on a copy of the snapshot, while the engine keeps handling
 * events: for a service, whose users wait for answers meanwhile. One decision at a time. All
 * functions are to be called from one thread.
 */
struct async_decider;

/*
 * A decision. The pointers belong to the struct async_decider and are valid until the next
 * async_decider_ask().
 */
struct async_answer {
	const struct policy *policy;           /* the policy that decided */
	const struct sched_snapshot *snapshot; /* the copy that it decided on */
	const struct sched_plan *plan;
	const char *problem; /* why a policy from outside made no plan; NULL: it did */
	double decide_s;     /* processor time */
	double asked_s; /* when async_decider_ask() was called, seconds of the platform's clock */
};

/* Called on the thread that decided, before the answer is available; the arguments are borrowed. */
typedef void (*async_decided_f)(const struct policy *policy, const struct sched_snapshot *snapshot,
				const struct sched_plan *plan, void *data);

/*
 * `ready` is called from the default main context when an answer is available. `decided` is called
 * before that, on the thread that decides. Both get `data`.
 */
struct async_decider *async_decider_new(const struct platform *platform, void (*ready)(void *data),
					async_decided_f decided, void *data);

/* Waits for a pending decision and drops it. NULL is allowed. */
void async_decider_free(struct async_decider *decider);

/*
 * Asks `policy` for a plan with `flags` (enum policy_flags). No decision may be pending. The system
 * of the snapshot must not change until there is an answer; everything else is copied. `outside`
 * decides if the policy is from outside, on the thread; it may be NULL otherwise. With queues a
 * policy of the tree keeps nothing from one decision to the next (policy_context.memory).
 */
void async_decider_ask(struct async_decider *decider, const struct policy *policy,
		       struct policy_outside *outside, unsigned int flags,
		       const struct sched_snapshot *snapshot);

/* Whether a decision is pending or its answer was not taken yet. */
bool async_decider_is_busy(const struct async_decider *decider);

/* Takes the answer. Returns false if there is none. */
bool async_decider_take(struct async_decider *decider, struct async_answer *ret_answer);
