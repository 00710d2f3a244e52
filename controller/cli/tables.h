/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/report/table.h"

/*
 * The controller's documents as tables for a person. The caller frees each. Names and reasons, which
 * others wrote, are shown without control characters; what is not known is "-".
 */

/*
 * Of GET /v1/tasks: a row per task, with where it is, or in brackets why it waits or how it ended.
 * Times are since its arrival or start until the document's now_s, or its end.
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
 * Of GET /v1/tasks/N/decisions: a row per decision, but one for those in succession that
 * differ in numbers alone, with how many they are and the numbers of the first. Columns beyond the
 * place and the reason are there where any decision has such a number.
 */
struct table *table_of_decisions(const json_t *document);
