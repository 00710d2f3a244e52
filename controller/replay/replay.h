/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/replay/swf.h"

/*
 * Batch traces on one homogeneous machine under FCFS, EASY and Conservative Backfilling, in virtual
 * time. Processors are interchangeable, so jobs have widths and no places.
 *
 * Order at one instant: completions, then submissions in trace order, then one scheduling pass.
 *
 * - FCFS never overtakes.
 * - EASY (Lifka 1995; Machovec 2018, 3.4.4): the head of the queue gets a shadow time, the earliest at
 *   which enough processors are free by estimates. Another job may start now if it ends, by its
 *   estimate, not after the shadow time, or uses only processors that are extra at that time.
 * - Conservative (Mu'alem and Feitelson 2001; Machovec 2018, 3.4.3): every job is promised a start, in
 *   order of arrival. When a job ends early the schedule is compressed: in that order each waiting
 *   job is taken out of it and put back at its earliest start, with all others, running and
 *   promised, in place. So no promise slips.
 *
 * A job that runs past its estimate is taken to end at any moment. That alone makes promises slip:
 * those whose time has passed are for now, and in the order of the promises, then of arrival, each
 * moves back to where it fits beside those before it. Then the schedule is compressed.
 */

/* What plans go by. */
enum replay_estimates {
	REPLAY_ESTIMATES_USER = 0, /* the trace's, where it has one */
	REPLAY_ESTIMATES_PERFECT,  /* run times */
};

struct replay_policy;

/* What to replay. */
struct replay_setup {
	const struct swf_trace *trace; /* borrowed; no job is wider than `procs` */
	uint32_t procs;                /* of the machine, > 0 */
	const struct replay_policy *policy;
	enum replay_estimates estimates;
	/* A job that outlives its estimate runs on; else it is killed at it. */
	bool overrun;
	/*
	 * A reservation stays where it is until its time, as in the environments of Machovec 2018; else
	 * it is found anew in every pass.
	 */
	bool keep;
	/*
	 * Conservative: the schedule is made from nothing in order of arrival, instead of compressed,
	 * when a job ended early or runs past its estimate; promises may slip. Not with `keep`.
	 */
	bool rebuild;
	/* Called now and then with how many of the jobs were submitted; or NULL. */
	void (*progress)(uint32_t submitted, uint32_t jobs, void *data);
	void *data; /* for progress; borrowed */
};

/* What became of the jobs, each by its index in the trace. */
struct replay_result {
	double *start_s;
	double *end_s;
	/* Conservative: what a job was promised when it was submitted; INFINITY elsewhere. */
	double *promised_s;
	/* ... and how much later than the earliest promise that it ever had it started, >= 0. */
	double *slip_s;
	uint32_t jobs_count;
	uint32_t slipped;   /* jobs whose slip is above 0 */
	uint32_t killed;    /* at their estimates */
	uint64_t passes;    /* scheduling passes */
	double begin_s;     /* first submission */
	double makespan_s;  /* last end - first submission */
	double used_s;      /* processor-seconds */
};

/* The policy of that name, or NULL. */
const struct replay_policy *replay_policy_find(const char *name);

/* All policies, and their names. */
const struct replay_policy *const *replay_policies(uint32_t *ret_count);
/* The name that replay_policy_find() takes. */
const char *replay_policy_name(const struct replay_policy *policy);

/*
 * Replays the trace to its last end and fills *ret_result, whose arrays replay_finish() frees.
 * Never fails.
 */
void replay_run(const struct replay_setup *setup, struct replay_result *ret_result);

/* Frees the arrays of a result. */
void replay_finish(struct replay_result *result);
