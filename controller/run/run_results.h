/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * What `virtbed run --json` and `virtbed profile` print, read back from the run directory.
 */

/* {"dir": ., "runs": [{"policy": ., "limit": ., ...}]} of the runs that were not aborted. */
bool run_results_print_json(const char *dir, GError **error);

/* A time that tasks are to take on one cluster, for whom only their repetitions are open. */
struct run_results_target {
	double target_s; /* > 0; 0: none is wanted */
	const char *cluster;
};

/*
 * The estimates as a table, ETC and EEC per type and cluster with deviation and count; with a target,
 * then a line per type with the repetitions that hit it, for times grow as repetitions do: what
 * launching takes makes them a little too few where it is a large part of the time measured.
 */
bool run_results_print_estimates(const char *dir, const struct run_results_target *target,
				 GError **error);

/*
 * {"dir": ., "estimates": [{"type": ., "cluster": ., "etc_s": ., ...}]}; with a target, those of its
 * cluster have "target_repetitions" too.
 */
bool run_results_print_estimates_json(const char *dir, const struct run_results_target *target,
				      GError **error);
