/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/experiment/trials.h"

/*
 * Checks before a simulation whether run directory `dir` can be made, or written to if it exists
 * and has no store, and whether `config` is short enough to be saved in it. Leaves no trace.
 * Returns true, or false with `error` (DATABASE_ERROR, CONFIG_ERROR).
 */
bool simulate_store_check(const char *dir, const struct config *config, GError **error);

/*
 * Writes a simulation into run directory `dir` (new, or without a store), with the schema of a
 * measured run (docs/reference/store.md) and trials as repeats: the configuration, a row for every
 * run, and for the runs of trial 1, which has the workload of `virtbed run`, also tasks, events and
 * decisions. `limits` are the fractions; `estimates` is the source of the estimates ("given" or a
 * file). Returns true, or false with `error`.
 */
bool simulate_store_write(const char *dir, const struct trials *trials, const double *limits,
			  double budget_j, const struct engine_result *results,
			  const char *estimates, GError **error);
