/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/replay.h"
#include "controller/replay/replay_arrivals.h"
#include "controller/sched/job_order.h"

/*
 * The internals of a replay, shared by the loop (replay.c) and the policies. A policy is a table of
 * functions; the loop calls pass() when a pass is due.
 */

/* A job that runs. */
struct replay_running {
	double time_s; /* its end, or its expected end: see struct replay */
	uint32_t job;
	uint32_t procs;
};

/* A waiting job; jobs wait in order of arrival. */
struct replay_waiting {
	double estimate_s;
	double start_s; /* Conservative: its reservation; INFINITY: none yet */
	double least_s; /* Conservative: its earliest reservation so far */
	double key;     /* orders: the lowest goes first */
	uint32_t job;
	uint32_t procs;
	uint32_t number; /* how many had arrived before it */
};

/* From `time_s` on, `free` processors are free. */
struct replay_step {
	double time_s;
	int64_t free; /* below 0 where a job that runs too long overlaps a reservation */
};

struct replay_own;

/* A replay. */
struct replay {
	const struct replay_setup *setup;
	struct replay_arrivals *arrivals;
	uint32_t submitted; /* jobs so far */
	struct replay_result *result;
	double now_s;
	uint32_t free; /* processors free now */
	uint32_t ends_count;
	struct replay_running *ends; /* heap by true end, then job */
	uint32_t expected_count;
	struct replay_running *expected; /* ascending by expected end, then job */
	uint32_t queue_first;            /* the part of `queue` in use is [first, first + count) */
	uint32_t queue_count;
	uint32_t queue_capacity;
	struct replay_waiting *queue;
	uint32_t arrived; /* jobs that joined the queue since the last pass */
	bool completed;   /* a job ended since the last pass */
	/* A job ended since the last pass, and not at its expected time. */
	bool surprised;
	bool early; /* a job ended since the last pass before its expected time */

	/* Data of the policies. */
	double shadow_s; /* EASY: when the head can start */
	uint32_t extra;  /* EASY: processors left over at shadow_s */
	/* EASY with setup->keep: the head holds shadow_s. With setup->rlscheduler: it is chosen. */
	bool reserved;
	uint32_t steps_count; /* Conservative: free processors over time */
	uint32_t steps_capacity;
	struct replay_step *steps;
	uint32_t order_capacity; /* Conservative: indices in the queue, to be sorted */
	uint32_t *order;
	struct replay_own *own; /* of a policy with begin() */
};

/* The table of a policy. */
struct replay_policy {
	const char *name;
	bool reserves;                 /* jobs get reservations */
	bool compresses;               /* the schedule is compressed when a job ends early */
	bool backfills;                /* with `order`: jobs may overtake its first */
	const struct job_order *order; /* NULL: Conservative, which has none */
	/* Called before the first event and after the last; they make and free `own`. Optional. */
	void (*begin)(struct replay *replay);
	void (*finish)(struct replay *replay);
	/* One scheduling pass: starts jobs of the queue. Required. */
	void (*pass)(struct replay *replay);
	/* The pass under setup->rlscheduler; NULL: it cannot be replayed so. */
	void (*pass_rlscheduler)(struct replay *replay);
	/*
	 * Called before the pass when a running job ended whose expected end was expected->time_s;
	 * its processors are free already. Optional.
	 */
	void (*ended)(struct replay *replay, const struct replay_running *expected);
	/* The next time after now_s at which a pass is due without an event; NULL: never. */
	double (*next_s)(const struct replay *replay);
};

extern const struct replay_policy replay_fcfs;
extern const struct replay_policy replay_easy;
extern const struct replay_policy replay_conservative;

/* By arrival, s: the order of FCFS and EASY. */
extern const struct job_order replay_arrivals;

/* The orders of papers, each without and with EASY Backfilling. */
#define REPLAY_ORDERS_COUNT 20
extern const struct replay_policy replay_orders[REPLAY_ORDERS_COUNT];

/* The waiting job at index `place` of the queue; 0: the head. */
static inline struct replay_waiting *replay_waiting(const struct replay *replay, uint32_t place)
{
	return &replay->queue[replay->queue_first + place];
}

/* Starts a job now; it must fit. It stays in the queue. */
void replay_start(struct replay *replay, const struct replay_waiting *waiting);

/* Takes the job at `place` out of the queue. */
void replay_unqueue(struct replay *replay, uint32_t place);

/* Starts jobs from the head of the queue as long as they fit. */
void replay_start_heads(struct replay *replay);

/* The key of a waiting job now; the policy has an order. */
double replay_key(const struct replay *replay, const struct replay_waiting *waiting);

/*
 * Finds when the head, which does not fit now, can start by estimates (shadow_s), and the
 * processors left over then (extra).
 */
void replay_find_shadow(struct replay *replay);

/* Starts jobs that may overtake the head, from index `place` of the queue on. */
void replay_backfill(struct replay *replay, uint32_t place);

/* EASY Backfilling of the queue as it is: starts heads, then what may overtake the one left. */
void replay_backfill_queue(struct replay *replay);

/* The pass_rlscheduler of every policy with an order. */
void replay_rlscheduler_pass(struct replay *replay);

/* The expected end of running job `i`; not before now. */
static inline double replay_expected_s(const struct replay *replay, uint32_t i)
{
	const double time_s = replay->expected[i].time_s;

	return time_s > replay->now_s ? time_s : replay->now_s;
}

/* Whether a job runs past its estimate, or is at it. */
static inline bool replay_has_overrun(const struct replay *replay)
{
	return replay->expected_count > 0 && replay->expected[0].time_s <= replay->now_s;
}
