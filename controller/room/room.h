/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/experiment/trials.h"
#include "controller/room/flip.h"

/*
 * The room of a simulated verdict: how large an error has to be until the simulation names another
 * winner of a pair of policies. The experiment is simulated again and again, with errors of one
 * kind whose size grows, and the paired mean difference of the pair over the trials is watched.
 * Trials, arrivals and the draws behind the errors are the same at every size and for every policy
 * (common random numbers), so that the difference changes with the size as smoothly as it can.
 */

/* What is wrong. A size is a part: 0.1 is a tenth. */
enum room_kind {
	/*
	 * The estimates that policies see: the execution time and energy of each pair of type and
	 * cluster are times a lognormal factor of mean 1; the size is the deviation of its
	 * logarithm.
	 */
	ROOM_ESTIMATES = 0,
	ROOM_NOISE,     /* the same with a factor for each task */
	ROOM_MORE_LOAD, /* tasks arrive 1 + size times as fast */
	ROOM_LESS_LOAD, /* tasks arrive 1 + size times as slowly */
	/*
	 * Every start, and every resumption after a suspension or a migration, holds the nodes for
	 * longer before the task makes progress: size x room_overhead_unit_s().
	 */
	ROOM_OVERHEAD,
};
enum { ROOM_KINDS = ROOM_OVERHEAD + 1 };

/* "estimates", "noise", "more load", "less load", "overhead"; NULL-terminated. */
extern const char *const room_kind_names[];

/* The largest size that is tried. */
#define ROOM_MOST 1.0

/* A pair of policies at a limit, by their numbers. */
struct room_pair {
	uint32_t first, second; /* policies of the experiment */
	uint32_t limit;         /* of the limits */
	struct flip flips[ROOM_KINDS];
};

struct room_setup {
	const struct experiment *experiment;
	uint64_t seed;          /* of the workloads; 0: the configured one */
	uint32_t trials;        /* > 1 */
	uint32_t jobs;          /* threads, > 0; results do not depend on it */
	const double *limits_j; /* limits_count energy limits, > 0 */
	uint32_t limits_count;
	bool by_stretch; /* policies are ranked by mean bounded stretch, less is better */
	/*
	 * Called after each size, and about once a second, with the number of simulated runs so far;
	 * may be NULL. Returns false to cancel.
	 */
	bool (*progress)(uint64_t done, enum room_kind kind, void *data);
	void *data;
};

/*
 * The most runs that room_find() simulates for so many pairs: each is one policy on one trial with
 * an error of one size, at all limits.
 */
uint64_t room_most_runs(const struct room_setup *setup, uint32_t pairs);

/*
 * Finds the flips of pairs (array of struct room_pair, whose numbers are set) and sets *ret_runs to
 * the number of runs that were simulated. False with the `error` of trials_run().
 */
bool room_find(const struct room_setup *setup, struct room_pair *pairs, uint32_t count,
	       uint64_t *ret_runs, GError **error);

/* The mean, over the types of an experiment, of their least execution time, in seconds. */
double room_overhead_unit_s(const struct experiment *experiment);
