/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The output of `virtbed run --json` and `virtbed profile`, read back from the run directory. */

/*
 * {"dir": ., "runs": [{"policy": ., "limit": ., ...}]} of the runs that were not aborted: a new
 * reference, or NULL with `error`.
 */
json_t *run_results_json(const char *dir, GError **error);

/*
 * A wanted execution time on one cluster, for types of which only the number of repetitions is
 * free.
 */
struct run_results_target {
	double target_s; /* > 0; 0: no target */
	const char *cluster;
};

/*
 * Prints the estimates as a table: ETC and EEC per type and cluster with deviation and count. With
 * a target, adds a line per type with the repetitions that reach it, since times grow with
 * repetitions; the launch makes them a little too few if it is a large part of the measured time.
 */
bool run_results_print_estimates(const char *dir, const struct run_results_target *target,
				 GError **error);

/*
 * {"dir": ., "estimates": [{"type": ., "cluster": ., "etc_s": ., ...}]}; with a target, those of
 * its cluster have "target_repetitions" too.
 */
bool run_results_print_estimates_json(const char *dir, const struct run_results_target *target,
				      GError **error);
