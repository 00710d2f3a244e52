/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/engine/trials.h"

/*
 * Whether a run directory `dir` can be made, or written if it is there and has no store in it: asked
 * before anything is simulated. Leaves no trace. Returns true, or false with `error` (STORE_ERROR)
 * set.
 */
bool simulate_store_check(const char *dir, GError **error);

/*
 * Writes a simulation into run directory `dir` (new, or without a store in it), with the schema of
 * a measured run (docs/reference/store.md) and trials as repeats: the configuration, a row for every run, and
 * for the runs of trial 1, which has the workload that `virtbed run` uses, their tasks, events and
 * decisions too. `limits` are the fractions, `estimates` says where the estimates come from
 * ("given" or a file). Returns true, or false with `error` set.
 */
bool simulate_store_write(const char *dir, const struct trials *trials, const double *limits,
			  double budget_j, const struct engine_result *results,
			  const char *estimates, GError **error);
