/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * Readers of the controller's documents for tables. A value that is missing, null or of another
 * type counts as unknown; no document makes a reader fail.
 */

/* The text of a key, borrowed, or NULL. */
const char *field_text(const json_t *object, const char *key);

/*
 * The text for a terminal: one line without control characters, since others wrote it; "-" where it
 * is unknown. The caller frees.
 */
char *field_line(const json_t *object, const char *key);

/* The number of a key, or NAN. */
double field_number(const json_t *object, const char *key);

/* The integer of a key, or 0. */
json_int_t field_integer(const json_t *object, const char *key);

/* Numbers of nodes as "0-2,5"; names of hosts as "b1 b2" without duplicates. The caller frees. */
char *field_nodes(const json_t *object, const char *key);
char *field_names(const json_t *object, const char *key);

/*
 * The nodes that a task has, had or will have, "c1/0-1"; empty where it has none, and the nodes in
 * the document are those of an earlier plan. The caller frees.
 */
char *field_task_nodes(const json_t *task);

/*
 * The sum of a task's past spans, the number `so_far`, and of its present one, which began at the
 * time `since`; and the time that it has yet to execute. NAN: unknown.
 */
double field_length_s(const json_t *task, const char *so_far, const char *since, double now_s);
double field_left_s(const json_t *task, double now_s);

/*
 * UTC, to the second, `later_s` seconds after the object's key "utc"; NULL: unknown. The caller
 * frees.
 */
char *field_utc(const json_t *object, double later_s);

/* Whether a task in this state has ended; NULL: unknown, false. */
bool field_state_ended(const char *state);

/*
 * The states of tasks that have not ended, separated by commas, as GET /v1/tasks?state= takes them:
 * PLACED, tasks that have or had nodes or a reservation; OPEN, all.
 */
#define FIELD_STATES_PLACED                                                                        \
	"planned,claimed,queued,starting,running,suspending,suspending-claimed,suspended,"         \
	"suspended-claimed,resuming,migrating,quarantined"
#define FIELD_STATES_OPEN "waiting," FIELD_STATES_PLACED
