/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/replay/replay.h"

/*
 * The inside of a replay: what the loop (replay.c) and the policies share. A policy is a table of
 * functions; the loop tells it when a pass is due.
 */

/* A job that runs. */
struct replay_running {
	double time_s; /* its end, or its expected end; see below */
	uint32_t job;
	uint32_t procs;
};

/* A job that waits, in order of arrival. */
struct replay_waiting {
	double estimate_s;
	double start_s;  /* Conservative: its reservation; INFINITY: none yet */
	double least_s;  /* ... and the earliest one that it ever had */
	uint32_t job;
	uint32_t procs;
};

/* From `time_s` on, `free` processors are free. */
struct replay_step {
	double time_s;
	int64_t free; /* below 0 where a job that runs too long overlaps a promise */
};

/* A replay. */
struct replay {
	const struct replay_setup *setup;
	struct replay_result *result;
	double now_s;
	uint32_t free;             /* processors free now */
	uint32_t ends_count;
	struct replay_running *ends;     /* heap by true end, then job */
	uint32_t expected_count;
	struct replay_running *expected; /* ascending by expected end, then job */
	uint32_t queue_first;      /* of the part of `queue` in use: [first, first + count) */
	uint32_t queue_count;
	uint32_t queue_capacity;
	struct replay_waiting *queue;
	uint32_t arrived;          /* jobs that joined the queue since the last pass */
	bool completed;            /* a job ended since the last pass */
	bool surprised;            /* ... and not when it was expected to */
	bool early;                /* ... but before */

	/* The policies' own. */
	double shadow_s;           /* EASY: when the head can start */
	uint32_t extra;            /* ... and the processors left over then */
	bool reserved;             /* EASY with setup->keep: the head holds shadow_s */
	uint32_t steps_count;      /* Conservative: free processors over time */
	uint32_t steps_capacity;
	struct replay_step *steps;
	uint32_t order_capacity;   /* Conservative: places of the queue, to sort */
	uint32_t *order;
};

/* The table of a policy. */
struct replay_policy {
	const char *name;
	/* One scheduling pass: starts jobs of the queue. Required. */
	void (*pass)(struct replay *replay);
	/*
	 * A running job ended, and was expected to at expected->time_s; its processors are free
	 * already. Before the pass; optional.
	 */
	void (*ended)(struct replay *replay, const struct replay_running *expected);
	/* The next time after now_s at which a pass is due even if nothing happens; NULL: never. */
	double (*next_s)(const struct replay *replay);
};

extern const struct replay_policy replay_fcfs;
extern const struct replay_policy replay_easy;
extern const struct replay_policy replay_conservative;

/* The waiting job at `place` of the queue, 0 being the head. */
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

/* When running job `i` of the expected ends is taken to end: not before now. */
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
