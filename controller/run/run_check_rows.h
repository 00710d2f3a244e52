/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/run/run_check.h"

/*
 * What a local scheduler's answers (docs/reference/api.md) say, as rows of a check. Pure: no I/O.
 */

/* What one cluster's local scheduler answered; each may be NULL. Borrowed. */
struct run_check_answers {
	const struct config_cluster *cluster;
	bool steady; /* its lab is (docs/how-to/run.md) */
	const json_t *capabilities;
	const json_t *nodes;
	const json_t *energy;
	const json_t *events;
	const json_t *task;  /* the small task, ended or not */
	uint32_t ranks;      /* of that task */
	const char *trouble; /* why the local scheduler itself failed, or NULL */
};

/* A list that frees its rows. */
GPtrArray *run_check_rows_new(void);

/* Appends a row; strings are copied. */
void run_check_add(GPtrArray *rows, const char *cluster, const char *host, const char *what,
		   enum run_check_result result, const char *text, const char *cure);

/* Appends a cluster's rows. */
void run_check_add_cluster(GPtrArray *rows, const struct run_check_answers *answers);

/* Whether every node is ready; whether every meter of the cluster gives readings. */
bool run_check_nodes_ready(const struct run_check_answers *answers);
/* Whether every meter of the cluster has given a reading; true where it has none. */
bool run_check_meters_read(const struct run_check_answers *answers);
