/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "common/record/record.h"

/*
 * `virtbed config check --live`: checks whether everything that a configuration names works, before
 * a run of hours starts. Each cluster's local scheduler is started (or a running one is asked), and
 * does what it does at the start of a run: connects to every host, brings the image there, boots
 * every node, sets the caps, reads the meters. Then one small MPI task over all nodes uses the
 * guests' channels. So a check tests exactly what a run uses. The VMs are removed at the end.
 */

enum run_check_result {
	RUN_CHECK_WORKS = 0,
	RUN_CHECK_NOTE, /* works, but not as on real hardware */
	RUN_CHECK_FAILED,
};

/* The result of one check. */
struct run_check_row {
	char *cluster; /* or "" */
	char *host;    /* or "" */
	char *what;    /* "host", "image", "nodes", "meter", "cap", "channels", ... */
	enum run_check_result result;
	char *text; /* the finding */
	char *cure; /* what to do, or what it means; NULL unless failed or noted */
};
extern const struct record run_check_row_record;

/*
 * `what` of the row that has all of a host in one line: its machine, its watts and its caps, to be
 * pasted into a report of an error or of a success. It names neither the host nor an address, but
 * for what a failure says.
 */
#define RUN_CHECK_REPORT "report"

/*
 * Longest time for all nodes of a cluster to be ready, seconds, times the patience: boots are slow
 * under emulation.
 */
#define RUN_CHECK_TIMEOUT_S 180.0

/* The result's name: "works", "note" or "FAILED". */
const char *run_check_result_name(enum run_check_result result);

/*
 * Checks `config`, which was read from `path` and is resolved here (so it is changed). Prints on
 * standard error what it waits for; it waits `timeout_s` for the nodes of each cluster (0:
 * RUN_CHECK_TIMEOUT_S x patience). Iterates the default main context. Returns the rows (GPtrArray
 * of struct run_check_row, owned by the caller), or NULL with `error` if no check was possible: a
 * run of the same name is under way, or a program is missing.
 */
GPtrArray *run_check(struct config *config, const char *path, double timeout_s, GError **error);

/* Whether the cluster has hosts or a local scheduler that runs; otherwise it is only simulated. */
bool run_check_can_run(const struct config_cluster *cluster);

/* Whether no row says FAILED. */
bool run_check_good(const GPtrArray *rows);
