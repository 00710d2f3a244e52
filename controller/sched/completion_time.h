/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/pet.h"
#include "controller/sched/pmf.h"

/*
 * Probabilistic completion times (Gentry 2019, section IV, eq. 2 to 5): when a machine is done with
 * a task of its queue, given when it is done with the task before. A machine is a cluster that
 * executes its queue in order, one task at a time. A task may not start at or after its deadline; a
 * task that finishes exactly at its deadline is on time. Times are bins.
 *
 * The chance of a task (its robustness) is the probability that it starts before its deadline and
 * finishes by it. Eq. (1), applied to the completion times of the machine, would count a dropped
 * task as a success, and is there for comparison only.
 *
 * The result of a call that fails is an empty PMF.
 */

/* Which tasks are dropped when their deadline has come. */
enum completion_time_scenario {
	COMPLETION_NO_DROP = 0,  /* A: none, all run to completion (eq. 2) */
	COMPLETION_DROP_PENDING, /* B: those that have not started (eq. 3 and 4) */
	/* C: also those that run: the machine is free at the deadline (eq. 5). */
	COMPLETION_DROP_ANY,
	/*
	 * C with eq. (5) as printed: above the deadline it keeps masses that it has also gathered
	 * at the deadline, so that its masses may sum to more than 1 (they are no PMF then). For
	 * comparison only.
	 */
	COMPLETION_DROP_ANY_PRINTED,
};

/* "no-drop", "drop-pending", "drop-any", "drop-any-printed"; NULL: unknown. */
const char *completion_time_scenario_name(enum completion_time_scenario scenario);

/*
 * When the machine is done with a task that it takes after `before`, the completion time of the
 * task before (or the time at which an idle machine starts). In scenarios B and C a task that
 * `before` leaves no time to start is dropped: the machine is free when the task before ends. The
 * result must not be one of the arguments. Returns PMF_OK, PMF_MEMORY or PMF_LENGTH.
 *
 * Cost: bins of `before` ahead of the deadline x bins of `exec`; in C only those products that end
 * ahead of the deadline.
 */
enum pmf_fault completion_time_next(struct pmf *ret_pct, const struct pmf *before,
				    const struct pet_entry *exec, int64_t deadline,
				    enum completion_time_scenario scenario);

/* The chance of a task that its machine takes after `before`. Cost: bins of `before`, at most. */
double completion_time_chance(const struct pmf *before, const struct pet_entry *exec,
			      int64_t deadline);

/* Eq. (1) as printed: the mass of the machine's completion time up to the deadline. */
double completion_time_chance_printed(const struct pmf *pct, int64_t deadline);

/*
 * When a machine is done with the task that it has executed since bin `start`, which has not
 * finished by bin `now`: its execution time, given that, shifted by its start. In scenario C the
 * task is dropped at its deadline, if that is after now. The chance of the task is in *ret_chance.
 * Returns as completion_time_next().
 */
enum pmf_fault completion_time_executing(struct pmf *ret_pct, const struct pet_entry *exec,
					 int64_t start, int64_t now, int64_t deadline,
					 enum completion_time_scenario scenario,
					 double *ret_chance);

/*
 * Bounds the error of the chances, and of the values of distribution functions, behind a merge.
 * `error` is the bound before the task (0: exact), `moved` the result of pmf_merge() for the
 * completion time of the task. The chance of the task is off by at most `error`, since it never
 * rises with a later start. The tasks behind it are off by at most the returned value: error +
 * moved in A and C, where a later start never makes the end by a given time likelier either, and 3
 * error + moved in B, where a start past the deadline frees the machine at once.
 */
double completion_time_merge_error(enum completion_time_scenario scenario, double error,
				   double moved);
