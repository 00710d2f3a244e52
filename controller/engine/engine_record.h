/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/engine/engine.h"

/*
 * What the engine records, by the recorder of its setup: tasks, suspensions and events, decisions,
 * and inputs. A callback that fails ends the run.
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

/* Decisions. */

/* Initialises engine->decision_record: nothing was decided. */
void engine_decision_record_init(struct engine *engine);
void engine_decision_record_finish(struct engine *engine);

/*
 * Makes the entry of a decision, on the policy's thread. No other thread reads what the engine
 * keeps about decisions before the answer was taken. `data` is the engine.
 */
void engine_prepare_entry(const struct policy *policy, const struct sched_snapshot *snapshot,
			  const struct sched_plan *plan, void *data);

/* Drops the entry: the decision is not carried out. */
void engine_clear_entry(struct engine *engine);

/* Tells the recorder of a decision, whether its plan is carried out or not. */
void engine_note_decided(struct engine *engine, const struct policy *policy,
			 const struct sched_snapshot *snapshot, const struct sched_plan *plan);

/* For a full state: which decision was recorded last. */
json_t *engine_save_recorded(const struct engine *engine);
bool engine_load_recorded(struct engine *engine, const json_t *state);

/*
 * Records a decision, unless engine_setup.record_changes says otherwise. The entry of a decision
 * made on the policy's thread was prepared there.
 */
void engine_record_decision(struct engine *engine, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan);

/*
 * Inputs: what the engine takes from outside is noted as it comes, so that a run can be carried out
 * again from its record, that of a service from a full state on (docs/reference/store.md, `input`).
 * A function that is called from outside and changes the engine begins with
 *
 *    g_auto(engine_noting) noting = engine_note(engine, KIND, NULL);
 *
 * Where it is called by another such function nothing is noted: it belongs to that one's input.
 */

/* An input that is being handled. */
typedef struct {
	struct engine *engine; /* NULL: nothing was noted */
} engine_noting;

/* Whether an input that begins now is noted: otherwise its detail need not be made. */
bool engine_notes(const struct engine *engine);

/* Begins an input; takes over `detail`, which may be NULL. */
engine_noting engine_note(struct engine *engine, enum engine_input_kind kind, json_t *detail);
/* The same about a time. */
engine_noting engine_note_at(struct engine *engine, enum engine_input_kind kind, double time_s,
			     json_t *detail);
/* The same about an event of the backend. */
engine_noting engine_note_event(struct engine *engine, enum engine_input_kind kind,
				const struct backend_event *event);
/* The same about a task. */
engine_noting engine_note_task(struct engine *engine, enum engine_input_kind kind, uint32_t task);

/* The input that was noted has been handled. */
void engine_noted(struct engine *engine);

static inline void engine_noting_end(engine_noting *noting)
{
	if (noting->engine)
		engine_noted(noting->engine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(engine_noting, engine_noting_end)
