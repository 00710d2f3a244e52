/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * Finds the simulated runs with the very arrivals that were measured: trial 1 of the same seed
 * (workload.h), with the same tasks. Comparing these excludes the effect of other workloads.
 */

/* Whether `simulated` has the measured arrivals for every policy and limit that both ran. */
bool arrivals_are_same(const struct summary *measured, const struct summary *simulated);

/*
 * The simulated run of a policy under a limit on the measured arrivals, or NULL; borrowed from
 * `simulated`. Only valid where arrivals_are_same().
 */
const struct store_run *arrivals_run(const struct summary *measured,
				     const struct summary *simulated, const char *policy,
				     double limit);
