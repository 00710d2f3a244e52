/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"

/*
 * `virtbed config check --live`: does everything that a configuration names work, before a run of
 * hours starts? Each cluster's local scheduler is started (or the one that runs is asked), and does
 * what it does at the start of a run: reaches every host, brings the image there, boots every node,
 * sets the caps, reads the meters; then one small MPI task over all nodes goes through the guests'
 * channels. So nothing is tested but what a run uses. The VMs are removed at the end.
 */

enum run_check_result {
	RUN_CHECK_WORKS = 0,
	RUN_CHECK_NOTE,   /* works, but not as the real thing would */
	RUN_CHECK_FAILED,
};

/* One thing that was looked at. */
struct run_check_row {
	char *cluster; /* or "" */
	char *host;    /* or "" */
	char *what;    /* "host", "image", "nodes", "meter", "cap", "channels", ... */
	enum run_check_result result;
	char *text;    /* what was found */
	char *cure;    /* NULL unless failed or noted: what to do, or what it means */
};

/* Longest time for all nodes of a cluster to be ready, before patience: boots are slow under emulation. */
#define RUN_CHECK_TIMEOUT_S 180.0

/* The result's name: "works", "note" or "FAILED". */
const char *run_check_result_name(enum run_check_result result);

/*
 * Checks `config`, which was read from `path` and is resolved here (so it is changed). Says on
 * standard error what it waits for, each cluster's nodes for `timeout_s`; 0: RUN_CHECK_TIMEOUT_S, and patience. Iterates the default main context. Returns the rows (GPtrArray
 * of struct run_check_row, owned by the caller), or NULL with `error` set when nothing could be
 * checked at all: a run of the same name is under way, or a program is missing.
 */
GPtrArray *run_check(struct config *config, const char *path, double timeout_s, GError **error);

/* Whether the cluster has hosts, or a local scheduler that runs: without, it is only simulated. */
bool run_check_can_run(const struct config_cluster *cluster);

/* Whether no row says FAILED. */
bool run_check_good(const GPtrArray *rows);
