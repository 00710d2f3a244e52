/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * Finds the runs of two directories on the very same arrivals. These are the first workload of a
 * seed (workload.h), or tasks that both were given, which no seed changes: any repeat of a
 * measurement, and trial 1 of a simulation. Of users who react, the same users are taken for the
 * same arrivals: when their tasks arrive depends on the run. Comparing these runs
 * excludes the effect of other workloads.
 */

/*
 * Whether both directories have runs on the arrivals of `first`. Where that was measured and
 * `second` simulated, `second` has them for every policy and limit that both ran.
 */
bool arrivals_are_same(const struct summary *first, const struct summary *second);

/*
 * A run of a policy under a limit in `side` on the arrivals of `first`, or NULL: there is none, or
 * it was left out; borrowed from `side`, which may be `first`. Only valid where
 * arrivals_are_same().
 */
const struct store_run *arrivals_run(const struct summary *first, const struct summary *side,
				     const char *policy, double limit);
