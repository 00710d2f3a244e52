/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/task_script.h"
#include "common/wire/wire_task.h"
#include "local-sched/launch/task_migration.h"
#include "local-sched/launch/task_suspension.h"

/*
 * What a local scheduler does with a task (struct task of common/wire/wire_task.h): parses requests,
 * writes and restores tasks; job.h executes them. Pure, except that the age of the progress depends
 * on the clock.
 */

#define TASK_ERROR (task_error_quark())
GQuark task_error_quark(void);
enum task_error { TASK_ERROR_REQUEST = 1 /* an invalid request */ };

enum { TASK_ID_MAX = 64 };

/* Whether `id` may name a task: 1 to 64 of [A-Za-z0-9._-], the first not a dot or dash. */
bool task_id_ok(const char *id);

/*
 * Reads the body of a PUT for a cluster of `nodes` nodes with `cores` cores each. Returns a new
 * task without times, or NULL with `error` (TASK_ERROR, JSON_ERROR): an invalid request.
 */
struct task *task_parse_request(const char *id, const json_t *body, uint32_t nodes, uint32_t cores,
				GError **error);

/* Whether `node` is one of the `count` nodes. */
bool task_has_node(const uint32_t *nodes, uint32_t count, uint32_t node);

/*
 * Reads "nodes" of a request about `what`: different nodes below `most`, as *ret_count numbers that
 * the caller frees. False with `error` (TASK_ERROR, JSON_ERROR), and nothing is written.
 */
bool task_parse_nodes(const json_t *body, const char *what, uint32_t most, uint32_t **ret_nodes,
		      uint32_t *ret_count, GError **error);

/*
 * Ends a task: it has `outcome`, for `reason` (copied; NULL: none), since `now_ns`. An ended task
 * stays as it is; that is logged as a defect.
 */
void task_end(struct task *task, enum task_outcome outcome, const char *reason, int64_t now_ns);

/* How many processes the task has: its ranks, or one per node for a script. */
uint32_t task_processes(const struct task *task);

/* The request in a canonical form: equal requests give equal texts. The caller frees it. */
char *task_request_text(const struct task *task);

/* The task object of docs/reference/api.md at `now_ns` without output; a new reference. */
json_t *task_to_json(const struct task *task, int64_t now_ns);

/* Restores a task at `now_ns` from the stored texts of task_request_text() and task_to_json(). */
struct task *task_restore(const char *id, const char *request, const char *record, int64_t now_ns,
			  GError **error);

/* The last suspension, or NULL: never suspended. */
struct task_suspension *task_last_suspension(const struct task *task);

/* The last migration, or NULL: never migrated; and whether it is under way. */
struct task_migration *task_last_migration(const struct task *task);
bool task_is_migrating(const struct task *task);

/* The nodes at which the task was placed last, nodes_count of them; borrowed. */
const uint32_t *task_placed(const struct task *task);

/* As task_outcome_names[]; NULL for TASK_OUTCOME_NONE. */
const char *task_outcome_name(enum task_outcome outcome);
