/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * What `virtbed run --json` and `virtbed profile` print, read back from the run directory.
 */

/* {"dir": ., "runs": [{"policy": ., "limit": ., ...}]} of the runs that were not aborted. */
bool run_results_print_json(const char *dir, GError **error);

/* The estimates as a table, ETC and EEC per type and cluster with deviation and count. */
bool run_results_print_estimates(const char *dir, GError **error);

/* {"dir": ., "estimates": [{"type": ., "cluster": ., "etc_s": ., ...}]}. */
bool run_results_print_estimates_json(const char *dir, GError **error);
