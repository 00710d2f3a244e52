/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/report/table.h"

/*
 * The controller's documents as tables for people. The caller frees each. Names and reasons, which
 * others wrote, are shown without control characters; unknown values are "-".
 */

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

/* Of GET /v1/power: a row per host. */
struct table *table_of_power(const json_t *document);

/*
 * Of GET /v1/tasks/N/decisions. Successive decisions that differ only in their numbers share a row,
 * which has their count and the numbers of the first. A column for a number is shown if any
 * decision has that number.
 */
struct table *table_of_decisions(const json_t *document);
