/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/supervise/run_check.h"

/* Turns a local scheduler's answers (docs/reference/api.md) into rows of a check. Pure: no I/O. */

/* The answers of one cluster's local scheduler; each may be NULL. */
struct run_check_answers {
	const struct config_cluster *cluster;
	bool steady; /* its lab is steady (docs/how-to/run.md) */
	json_t *capabilities;
	json_t *nodes;
	json_t *energy;
	json_t *events;
	json_t *task;   /* the small MPI task, ended or not */
	uint32_t ranks; /* of that task */
	char *trouble;  /* why the local scheduler itself failed; NULL: it did not */
};

/* An empty list that frees its rows. */
GPtrArray *run_check_rows_new(void);

/* Appends a row, whose text has a format; strings are copied. */
void run_check_add(GPtrArray *rows, const char *cluster, const char *host, const char *what,
		   enum run_check_result result, const char *cure, const char *format, ...)
	G_GNUC_PRINTF(7, 8);

/* Appends a cluster's rows. */
void run_check_add_cluster(GPtrArray *rows, const struct run_check_answers *answers);

/* Whether no host of the cluster is reached, and a reason for that is known. */
bool run_check_hosts_unreached(const struct run_check_answers *answers);
/* Whether every node is ready. */
bool run_check_nodes_ready(const struct run_check_answers *answers);
/* Whether every meter of the cluster has given a reading; true where it has none. */
bool run_check_meters_read(const struct run_check_answers *answers);

/* Whether each meter without a reading has said why: none is merely slow. */
bool run_check_meters_told(const struct run_check_answers *answers);
