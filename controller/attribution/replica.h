/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/attribution/cause.h"
#include "controller/attribution/observed.h"
#include "controller/experiment/experiment.h"

/*
 * Simulates a measured run once more, with some causes (cause.h) as they were measured and the
 * others as the simulated side has them.
 */

/* What a run is attributed by. */
enum measure {
	MEASURE_UTILITY = 0,
	MEASURE_ENERGY, /* dynamic, joules */
	MEASURE_COMPLETED,
	MEASURE_STRETCH, /* on shared hosts; NAN elsewhere */
	MEASURES
};
/* "utility", ...: keys of JSON and titles. */
extern const char *const measure_keys[MEASURES];
extern const char *const measure_titles[MEASURES];

/* A configuration that takes part, with its tasks. */
struct replica_side {
	const struct experiment *experiment;
	const struct experiment_trial *trials; /* measured: one; simulated: the judged trials */
	uint32_t trials_count;
};

struct replica {
	struct replica_side measured, simulated;
	const struct observed *observed;
	bool same_tasks;    /* one simulated trial, with the tasks that were measured */
	cause_set possible; /* causes that differ between the sides, and were measured */
};

/* A run to simulate. */
struct replica_run {
	const struct policy *policy;
	const struct observed_run *observed;
	double measured_j, simulated_j; /* the limits */
	/*
	 * 0: the tasks are as they were measured. Else a measurement that is repeated: what was
	 * measured of each task is drawn again, by this number.
	 */
	uint32_t repeat;
	/*
	 * The repeat has the noise of measuring alone: times, launches and power are drawn as they
	 * deviate from their means, and these are as the simulation has them.
	 */
	bool noise;
	uint64_t stream; /* for the draws: different runs have different ones */
};

/* The causes that a repeat with noise alone has. */
#define REPLICA_NOISY (1u << CAUSE_TIMES | 1u << CAUSE_LAUNCH | 1u << CAUSE_METERING)

/*
 * Finds which causes can matter: sets the last two fields. The limits of runs are not looked at.
 */
void replica_find_possible(struct replica *replica);

/*
 * Simulates the run with the causes of `on` as they were measured, and fills ret_values, in the
 * mean over the simulated trials where CAUSE_ARRIVALS is off. *ret_suspended: whether tasks were
 * suspended. Returns true, or false with `error`: a policy from outside did not decide. Safe on
 * several threads.
 */
bool replica_simulate(const struct replica *replica, const struct replica_run *run, cause_set on,
		      double ret_values[MEASURES], bool *ret_suspended, GError **error);
