/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "controller/replay/swf.h"
#include "controller/workload/workload.h"

/*
 * The simulated environments of Machovec 2018, section 4.2: for every trial 100 task types with
 * their execution times and powers are drawn on the configured clusters, then the tasks of a day
 * and of the hours before it. Choices that the paper leaves open:
 *
 * - the 20 utility classes, which are unpublished, are drawn from a seed of their own;
 * - a width of Table 3's row "max cores of cluster" is that of the largest cluster that the type
 *   may use, and clusters that are too small for a task cannot run it;
 * - Downey's A is the mean number of nodes of the row in that cluster, n the nodes; times are
 *   normalised by T(1);
 * - power is per node; P-states scale by factors evenly spaced from 1 to 0.5.
 *
 * With a trace (section 4.3) the tasks are the jobs of one of its days and of the hours before it,
 * each of a type drawn uniformly: a job's run time is the execution time at P-state 0 in the first
 * cluster that its type may use, and the type determines how much longer it takes elsewhere. Jobs
 * that fit on no cluster are left out. Utility classes have at least the length for a job of 10
 * minutes, about the shortest type of section 4.2: otherwise most jobs of such traces would be
 * worth nothing by the first mapping event. Days on which no job is submitted are skipped, since
 * logs begin late and have gaps: of the other days trial 1 runs the day that trace_day selects,
 * trial 2 the next, and so on.
 */

/*
 * With environment.serial a trial is one of Machovec 2017 instead (environment_serial.h), with
 * environment.sharing one of Stillwell 2010 (environment_sharing.h), with environment.pruning one
 * of Gentry 2019 (environment_pruning.h).
 */

/* Types of a trial. */
#define ENVIRONMENT_TYPES 100
/* Utility classes. */
#define ENVIRONMENT_CLASSES 20

/* A trial: a system of its own and the tasks to come. */
struct environment_trial {
	struct sched_system *system; /* rows are task types at the widths that occur */
	/*
	 * With environment.sharing: the same hosts as nodes with one job at a time, and a row per
	 * job with its time and nodes. `system` is then shared and has no rows. NULL otherwise.
	 */
	struct sched_system *whole;
	struct workload *workload;
	/*
	 * The most utility that the tasks of the day can earn: each started at its arrival in the
	 * fastest cluster at P-state 0. For serial tasks, the utility that they would earn then if
	 * utilities did not decrease (Machovec 2017, section V).
	 */
	double utility_max;
	GStringChunk *names;                   /* names of the rows */
	struct environment_machines *machines; /* with environment.pruning; else NULL */
};

/*
 * Reads config_environment(config)->trace. Returns a new trace, or NULL with `error`
 * (WORKLOAD_ERROR) set.
 */
struct swf_trace *environment_trace_new(const struct config *config, GError **error);

/*
 * The day of `trace` that `trial` (from 1) runs. Days have 24 hours and count from 1, which begins
 * at the trace's time 0. 0: the trace has no such day. O(jobs).
 */
uint32_t environment_trace_day(const struct config *config, const struct swf_trace *trace,
			       uint32_t trial);

/*
 * "trials 1 to 3 run days 366, 368 to 369; nothing is submitted on 1 to 365, 367": which days of a
 * trace `trials` trials run, as far as it has them, and which they skip. `trace` as in
 * environment_trial_new(). NULL if trials are no days of a trace. The caller frees.
 */
char *environment_days_text(const struct config *config, const struct swf_trace *trace,
			    uint32_t trials);

/*
 * Draws trial `trial` (from 1) of config_environment(config), which must be present. `seed` 0: the
 * configured one. `trace`: that of environment_trace_new() if the environment has one, else NULL.
 * Equal arguments give equal trials. Returns a new trial, or NULL with `error` (WORKLOAD_ERROR)
 * set.
 */
struct environment_trial *environment_trial_new(const struct config *config,
						const struct swf_trace *trace, uint64_t seed,
						uint32_t trial, GError **error);

/* NULL is allowed. */
void environment_trial_free(struct environment_trial *trial);
typedef struct environment_trial environment_trial_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(environment_trial_t, environment_trial_free)
