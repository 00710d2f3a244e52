/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/replay/swf.h"

/*
 * Replays batch traces on one homogeneous system under FCFS, EASY and Conservative Backfilling, and
 * under the orders that papers compare with, in virtual time. Processors are interchangeable: jobs
 * have widths and no placements.
 *
 * Order at one instant: completions, then submissions in trace order, then one scheduling pass.
 *
 * - FCFS never overtakes.
 * - EASY (Lifka 1995; Machovec 2018, 3.4.4): the head of the queue gets a shadow time, the earliest
 *   at which enough processors are free by estimates. Another job may start now if it ends, by its
 *   estimate, not after the shadow time, or uses only processors that are left over at that time.
 * - Conservative (Mu'alem and Feitelson 2001; Machovec 2018, 3.4.3): every job gets a reservation,
 *   in order of arrival. When a job ends early the schedule is compressed: in that order each
 *   waiting job is taken out of it and put back at its earliest start, with all other jobs, running
 *   and reserved, in place. So no reservation moves back.
 *
 * - The orders (replay_order.c): as FCFS, or with "+easy" as EASY, but by the key of the order.
 *
 * A job that runs past its estimate is taken to end at any moment. Only that makes reservations
 * move back: reservations whose time has passed are moved to now, and in the order of the
 * reservations, then of arrival, each moves back to where it fits beside those before it. Then the
 * schedule is compressed.
 */

/* The run times that policies see. */
enum replay_estimates {
	REPLAY_ESTIMATES_USER = 0, /* the trace's estimate, or the run time if it has none */
	REPLAY_ESTIMATES_PERFECT,  /* run times */
};

struct replay_policy;

/* What to replay. */
struct replay_setup {
	const struct swf_trace *trace; /* borrowed; no job is wider than `procs` */
	uint32_t procs;                /* processors of the system, > 0 */
	const struct replay_policy *policy;
	enum replay_estimates estimates;
	/*
	 * A job that outlives its estimate keeps running; else it is killed when the estimate has
	 * passed.
	 */
	bool overrun;
	/*
	 * A reservation is kept until its time, as in the environments of Machovec 2018; else it is
	 * recomputed in every pass.
	 */
	bool keep;
	/*
	 * Conservative: the schedule is rebuilt in order of arrival, instead of compressed, when a
	 * job ended early or runs past its estimate; reservations may move back. Not with `keep`.
	 */
	bool rebuild;
	/*
	 * As the program of RLScheduler replays (replay_rlscheduler.c). Only for a policy with an
	 * order, and with `overrun`; not with `keep`.
	 */
	bool rlscheduler;
	/*
	 * Semi-open arrivals (replay_arrivals.h): within sessions users react; a session has think
	 * times of at most think_most_s >= 0. Else jobs are submitted at the times of the trace.
	 */
	bool semi_open;
	double think_most_s;
	double energy_limit_j; /* for replay_summarize(); 0: none */
	/* Called at intervals with the number of jobs submitted so far; or NULL. */
	void (*progress)(uint32_t submitted, uint32_t jobs, void *data);
	void *data; /* for progress; borrowed */
};

/* The outcome of a replay; arrays by index of the job in the trace. */
struct replay_result {
	double *submit_s; /* as in the trace, unless arrivals are semi-open; NAN: it was not */
	double *start_s;  /* NAN: it never started, see replay_check() */
	double *end_s;    /* NAN: so */
	/*
	 * Conservative: the reservation of a job when it was submitted. Other policies: INFINITY.
	 */
	double *promised_s;
	/* Conservative: how much later than its earliest reservation a job started, >= 0. */
	double *slip_s;
	uint32_t jobs_count;
	uint32_t slipped;  /* jobs whose slip is above 0 */
	uint32_t killed;   /* at their estimates */
	uint64_t passes;   /* scheduling passes */
	double begin_s;    /* first submission */
	uint32_t sessions; /* semi-open: how many there are, else 0 */
	uint32_t followed; /* semi-open: batches submitted after another one */
	double makespan_s; /* last end - first submission */
	double used_s;     /* processor-seconds */
};

/* The policy of that name, or NULL. */
const struct replay_policy *replay_policy_find(const char *name);

/* All policies, *ret_count of them: FCFS, EASY, Conservative, then the orders. */
const struct replay_policy *const *replay_policies(uint32_t *ret_count);
/* The name of a policy, for replay_policy_find(). */
const char *replay_policy_name(const struct replay_policy *policy);

/* Whether jobs get reservations, so that replay_setup.keep has an effect. */
bool replay_policy_reserves(const struct replay_policy *policy);

/* Whether the schedule is compressed, so that replay_setup.rebuild has an effect. */
bool replay_policy_compresses(const struct replay_policy *policy);

/* Whether jobs are taken in an order, so that replay_setup.rlscheduler can be. */
bool replay_policy_ordered(const struct replay_policy *policy);

/* Whether it is one of the orders of papers (replay_order.c), which are replayed where named. */
bool replay_policy_is_order(const struct replay_policy *policy);

/*
 * Replays the trace to its last end and fills *ret_result, whose arrays replay_finish() frees.
 * Never fails.
 */
void replay_run(const struct replay_setup *setup, struct replay_result *ret_result);

#define REPLAY_ERROR (replay_error_quark())
GQuark replay_error_quark(void);

/* Codes of REPLAY_ERROR. */
enum replay_error {
	REPLAY_ERROR_UNSTARTED = 1, /* a job never started */
};

/*
 * Whether every job started, so that there are results. If the policy left jobs waiting when no job
 * ran and none was to be submitted: false with `error` set, which names the first of the trace.
 */
bool replay_check(const struct replay_setup *setup, const struct replay_result *result,
		  GError **error);

/* Frees the arrays of a result. */
void replay_finish(struct replay_result *result);
