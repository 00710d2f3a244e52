/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/experiment/experiment.h"

/*
 * Many simulated runs: trials x policies x limits on several threads. Each trial draws a workload
 * that all its policies and limits share, so that results may be compared in pairs. The results do
 * not depend on the number of threads.
 */
struct trials {
	const struct experiment *experiment;
	uint64_t seed;          /* of the workloads; 0: the configured one */
	uint32_t trials;        /* > 0; trial 1 is the workload that `run` uses */
	uint32_t jobs;          /* threads, > 0 */
	const double *limits_j; /* limits_count energy limits, > 0, in any order */
	uint32_t limits_count;
	const struct experiment_change *change; /* of every simulation; NULL: none */
	/*
	 * Called about once a second on the calling thread during the simulation; may be NULL.
	 * Returns false to cancel.
	 */
	bool (*progress)(uint32_t done, uint32_t trials, void *data);
	void *data;
};

/*
 * Simulates all runs. Policies that do not read the budget run once per trial, and their results at
 * the lower limits are taken when the energy reaches those. Returns results as trials x policies x
 * limits (row = trial), which the caller frees with g_free(), or NULL with `error` set (an invalid
 * workload, G_IO_ERROR_CANCELLED if progress() cancelled).
 */
struct engine_result *trials_run(const struct trials *trials, GError **error);

/* The result of a trial (from 0), a policy and a limit. */
static inline const struct engine_result *trials_result(const struct trials *trials,
							const struct engine_result *results,
							uint32_t trial, uint32_t policy,
							uint32_t limit)
{
	return &results[((size_t)trial * trials->experiment->policies_count + policy) *
				trials->limits_count +
			limit];
}
