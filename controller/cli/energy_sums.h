/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/report/table.h"

/* What the tasks of an experiment used, summed up: `virtbed energy`. */

/*
 * The keys that energy can be summed by: keys of a task, and the policy of a run. NULL-terminated.
 */
extern const char *const energy_sums_keys[];

/*
 * Sums `rows` (tasks of GET /v1/tasks, or runs of GET /v1/runs) by the text of `key`, by the number
 * for "task"; largest first. Returns a new array of {key: ., "tasks": number of tasks, "metered":
 * number of tasks whose energy is known, "energy_j": their sum, "utility": .}.
 */
json_t *energy_sums(const json_t *rows, const char *key);

/*
 * The document of `virtbed energy --json`: {"by", "sums", "attributed_j": sum over `sums`,
 * "energy_j": dynamic energy by the meters, "rest_j": the part of it that no ended task has,
 * "limit_j"}. `power` is that of GET /v1/power. `sums` is borrowed. Returns a new reference.
 */
json_t *energy_sums_document(const char *by, json_t *sums, const json_t *power);

/* The document as a table, with the meters' sum and the rest at its end. The caller frees. */
struct table *energy_sums_table(const json_t *document);
