/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/resumption_fsm.h"
#include "controller/engine/engine.h"
#include "controller/engine/suspension_fsm.h"

/*
 * The engine's internals: the suspensions of all tasks, with their states and the lists of tasks
 * that are suspended or being suspended. Of each task the last suspension is kept. The steps of a
 * suspension are in suspension.h.
 */
struct suspensions;

/*
 * How often in a row a suspension, resumption or migration may be rolled back before policies do
 * not try it again. A task whose migrations failed so often is suspended and resumed instead.
 */
#define ENGINE_RETRIES_MAX 3

/* Initialises engine->suspensions, for tasks below tasks_max: no task was suspended. */
void engine_suspensions_init(struct engine *engine, uint32_t tasks_max);
void engine_suspensions_finish(struct engine *engine);

/* Suspensions of a task. All O(1). */

/* The last suspension of a task; NULL: it was never suspended. Borrowed until engine_free(). */
const struct engine_suspension *engine_suspension_at(const struct engine *engine, uint32_t task);

enum suspension_state engine_suspension_state(const struct engine *engine, uint32_t task);
/* What resumes the task. */
enum resumption_state engine_resumption_state(const struct engine *engine, uint32_t task);

/* Whether steps of the task failed so often in a row that policies do not try another one. */
bool engine_suspension_retries_exhausted(const struct engine *engine, uint32_t task);

/* The part of engine_task.executed_s before the day began (engine_setup.lead_s), in seconds. */
double engine_suspension_lead_s(const struct engine *engine, uint32_t task);

/* Lists. */

/*
 * The suspended tasks that policies see, in the order that snapshots have, *ret_count of them.
 * Borrowed until a suspension changes. O(1), or O(n log n) after a change.
 */
const struct sched_allocation *engine_list_suspended(struct engine *engine, uint32_t *ret_count);
/* The same tasks, in the order in which they arrived. */
const uint32_t *engine_suspended_tasks(struct engine *engine, uint32_t *ret_count);
/* How many they are. O(1). */
uint32_t engine_suspended_count(const struct engine *engine);

/* The tasks that are being suspended, in the order in which they arrived, *ret_count of them. */
const uint32_t *engine_leaving_tasks(struct engine *engine, uint32_t *ret_count);

/* Whether a task is being suspended whose suspension was requested before time_s. */
bool engine_is_leaving_since(const struct engine *engine, double time_s);

/*
 * Whether a task is being suspended, with a claim or without, or is suspended and has no claim.
 * O(1).
 */
bool engine_has_suspensions(const struct engine *engine);

/* Whether a task is wanted (resumption_state_is_wanted()). O(1). */
bool engine_wants_suspended(const struct engine *engine);

/* Asks the backend to kill the tasks that engine_has_suspensions() is about. */
void engine_kill_suspended(struct engine *engine);

/* Changes. */

/*
 * Begins the next suspension of a task, number engine_task.suspensions of its attempt: moves it on
 * by SUSPENSION_SUSPEND and makes its record, in which the task leaves its present nodes.
 */
void engine_begin_suspension(struct engine *engine, uint32_t task);

/*
 * Moves a suspension on by any other event; the only writer of its state. Counts the steps that
 * failed in a row.
 */
void engine_move_suspension(struct engine *engine, uint32_t task, enum suspension_event event);

/*
 * Moves on what resumes a task that was suspended once; the only writer of that state. The record
 * of its suspension has what is stored of it.
 */
void engine_move_resumption(struct engine *engine, uint32_t task, enum resumption_event event);

/* The window has energy: moves all tasks on that it, or the last one, holds. */
void engine_turn_suspensions(struct engine *engine);

/* The record of a task that was suspended once, for what is known of its present step. */
struct engine_suspension *engine_suspension_record(struct engine *engine, uint32_t task);
/* Sets the nodes that it resumes on, which are copied. */
void engine_set_resume_nodes(struct engine *engine, uint32_t task, const uint32_t *nodes);

/* Adds to engine_suspension_lead_s(). */
void engine_add_suspension_lead(struct engine *engine, uint32_t task, double lead_s);

/*
 * After a restart: makes a record (copied) the last suspension of a task whose state is restored
 * already; their states follow from that.
 */
void engine_reattach_suspension(struct engine *engine, const struct engine_suspension *record);

/* For a full state: the last suspension of a task, empty if there was none. After its state. */
json_t *engine_save_suspension(const struct engine *engine, uint32_t task);
bool engine_load_suspension(struct engine *engine, uint32_t task, const json_t *state);
