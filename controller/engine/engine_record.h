/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/engine/engine.h"

/*
 * What the engine records: tasks, suspensions and events, by the recorder of its setup. A
 * callback that fails ends the run.
 */

/* Initialises engine->records, for tasks below tasks_max. */
void engine_records_init(struct engine *engine, uint32_t tasks_max);
void engine_records_finish(struct engine *engine);

/* Ends the run as aborted. The first reason is kept. */
void engine_abort(struct engine *engine, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Records a task at once. */
void engine_record_task(struct engine *engine, uint32_t task);

/* Marks a task for the next engine_record_changed(). */
void engine_touch(struct engine *engine, uint32_t task);

/* The record of a task is as the task is: engine_record_changed() leaves it out. */
void engine_untouch(struct engine *engine, uint32_t task);

/* Records the tasks that engine_touch() marked. */
void engine_record_changed(struct engine *engine);

/* Records the present suspension of a task, or its last one. */
void engine_record_suspension(struct engine *engine, uint32_t task);

/* Records an event with its detail, which is freed. */
void engine_record_object(struct engine *engine, double time_s, enum engine_event_kind kind,
			  json_t *object);

/* Records an event of a task; reason may be NULL. */
void engine_record_event(struct engine *engine, double time_s, enum engine_event_kind kind,
			 uint32_t task, const char *reason);

/* Records that the attempt of a task was lost at `time_s`; reason may be NULL. */
void engine_record_lost(struct engine *engine, uint32_t task, double time_s, const char *reason);

/* The user of the present request (engine_set_asker()), borrowed; NULL: not known. */
const char *engine_asker(const struct engine *engine);

/* Records an event for a user's request about a task, with the user (engine_set_asker()). */
void engine_record_request(struct engine *engine, enum engine_event_kind kind, uint32_t task);

/*
 * Records an event that repeats what the task's record says, if engine_setup.record_steps is set.
 */
void engine_record_step(struct engine *engine, double time_s, enum engine_event_kind kind,
			uint32_t task, const char *reason);

/*
 * Records an "ended" event from the task's state, time and reason, if engine_setup.record_steps is
 * set. No effect if the task has not ended.
 */
void engine_record_end(struct engine *engine, uint32_t task);

/*
 * To be called after a change of the task was recorded. Drops task->reason, except for ended tasks,
 * whose reason users ask for later.
 */
void engine_release_reason(struct engine *engine, struct engine_task *task);

/* Records the state of pruning as of `time_s`. */
void engine_record_pruner(struct engine *engine, const struct sched_pruner *pruner, double time_s);

/* Records an event of a node. `reason` and `user`, the user who asked for it, may be NULL. */
void engine_record_node(struct engine *engine, double time_s, enum engine_event_kind kind,
			const struct sched_node *node, const char *reason, const char *user);
