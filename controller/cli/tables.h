/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "controller/report/table.h"

/*
 * The controller's documents as tables for people. The caller frees each. Names and reasons, which
 * others wrote, are shown without control characters; unknown values are "-".
 */

/* A column of table_of_rows(). */
struct tables_column {
	const char *title; /* after '<' for text or '>' for a number, as of table_with() */
	const char *key;   /* of the row's object */
	int decimals;      /* of a number */
	bool unless_0;     /* the column is shown only if its number is not 0 in some row */
	/* Fills the cell of a row; NULL: with the text or the number of the key. */
	void (*fill)(struct table *table, const json_t *object, const json_t *document);
};

/* A row for each object of the document's list `key`. */
struct table *table_of_rows(const struct tables_column *columns, size_t count,
			    const json_t *document, const char *key);

/*
 * Of GET /v1/tasks: a row per task with its nodes, and in brackets why it waits or how it ended.
 * Times count from its arrival or start until the document's now_s, or until its end.
 */
struct table *table_of_tasks(const json_t *document);

/*
 * Of GET /v1/tasks, for `virtbed suspend` and `resume`: how often each task was suspended, and
 * whether a user keeps it suspended.
 */
struct table *table_of_suspensions(const json_t *document);

/* Of GET /v1/clusters. */
struct table *table_of_clusters(const json_t *document);

/* Of GET /v1/nodes: named CLUSTER/NODE, as `virtbed drain` takes them. */
struct table *table_of_nodes(const json_t *document);

/*
 * Of GET /v1/tasks/N/decisions. Successive decisions that differ only in their numbers share a row,
 * which has their count and the numbers of the first. A column for a number is shown if any
 * decision has that number.
 */
struct table *table_of_decisions(const json_t *document);
