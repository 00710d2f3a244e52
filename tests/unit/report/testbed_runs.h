/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * Run directories made by the engine itself on simulated clusters: every task's time and energy are
 * its estimates times a random ratio, so that a "measured" run has noise whose size is known. Tasks
 * with deadlines take what is drawn from their distributions, times that ratio.
 */
struct testbed_runs {
	const struct config *config;
	const char *const *policies; /* NULL-terminated */
	const double *limits;        /* limits_count fractions of budget_j of the configuration */
	uint32_t limits_count;
	bool measured;
	uint32_t runs; /* measured: repeats of trial 1; simulated: trials */
	double spread; /* standard deviation of the ratios; 0: exactly the estimates */
	uint64_t seed; /* of the ratios */
};

/* Makes a new temporary run directory; remove it with fixture_remove(). */
char *testbed_runs_new(const struct testbed_runs *runs);
