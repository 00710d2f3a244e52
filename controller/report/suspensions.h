/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/report/listing.h"
#include "controller/report/summary.h"

/*
 * The recorded suspensions of a directory's runs (docs/reference/store.md, suspension): how often
 * the tasks of each type were suspended and for how long, and the time of each step on each
 * cluster.
 */

/*
 * How tasks of a type stood still under a policy and limit; sums over its repeats, or for a
 * simulation the first trial, the only one with recorded tasks. A task stands still from the moment
 * when all of its VMs are frozen until they are resumed; a task that was not resumed before its run
 * ended does not count in the times.
 */
struct standstills {
	const char *policy; /* borrowed from the summary */
	double limit;
	char *type;
	uint32_t tasks;                     /* number of suspended tasks, by attempt */
	uint32_t suspended;                 /* number of suspensions, without those rolled back */
	uint32_t resumed;                   /* number of suspensions that were resumed */
	double *stills_s;                   /* `resumed` times that the tasks stood still */
	double still_s;                     /* their sum */
	double still_median_s, still_max_s; /* NAN: none was resumed */
};

/* The time of a step for the tasks of a type on a cluster, over all runs. */
struct step_times {
	char *type, *cluster;
	/* "freeze", "save", "restore", "resume", "skew": as the columns of the store */
	const char *step;
	uint32_t n;
	double *values_s; /* n times */
	double median_s, p90_s, max_s;
};

/*
 * Listings of struct standstills, by limit, policy and type in the order of the summary's cells,
 * and of struct step_times, by type, cluster and step; empty where no task was suspended. A step
 * that took no time anywhere is left out.
 */
extern const struct listing_part suspensions_part;

#define SUSPENSIONS_COUNTS_TITLE "Suspended tasks, by type"
#define SUSPENSIONS_STEPS_TITLE "What suspending and resuming took, ms"
