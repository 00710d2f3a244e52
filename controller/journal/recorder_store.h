/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/engine/engine.h"
#include "controller/store/store.h"

/*
 * A recorder that writes a run to the store: a row per task and per suspension, its events, and its
 * decisions with their snapshots. Writes are grouped into transactions.
 */
struct recorder_store;

/*
 * Creates a recorder of run `run` (a row id) of `store`, which stays the caller's and must outlive
 * the recorder. `system` is borrowed as well. `durable`: commits before the backend is asked for
 * anything, so that every request is on record; otherwise everything is one transaction, for runs
 * that can be simulated again. Never fails: if the run's last input cannot be read, after which
 * the next ones are numbered, nothing is written, and recorder_store_finish() says why.
 */
struct recorder_store *recorder_store_new(struct store *store, int64_t run,
					  const struct sched_system *system, bool durable);

/*
 * What snapshots of a system with queues call its matrix of execution times, which meta has under
 * this key. The caller frees.
 */
char *recorder_store_pet_key(const struct sched_system *system);

/*
 * Limits the recorded snapshots: for decisions on more than `most` tasks no snapshot is recorded,
 * only the number of tasks (`left_out`), and no place-holders. At first there is no limit.
 */
void recorder_store_limit(struct recorder_store *recorder, uint32_t most);

/*
 * Sets a function that is called with each event of the engine after it was recorded; the
 * transaction may still be rolled back. `detail` may be NULL. Both arguments are borrowed for the
 * call.
 */
void recorder_store_tell(struct recorder_store *recorder,
			 void (*on_event)(const char *kind, const char *detail));

/* The value for engine_setup.recorder; valid until recorder_store_free(). */
struct engine_recorder *recorder_store_engine(struct recorder_store *recorder);

/*
 * For a service: inputs are not recorded until the first full state is. To be called at once.
 */
void recorder_store_await_state(struct recorder_store *recorder);

/*
 * Records a full state of the engine, from which its run can be carried out again with the inputs
 * that follow, and `config`, the text of its configuration. The engine can be saved
 * (engine_can_save()). `start`: it was made or restored, and has not begun. Nothing is recorded of
 * a configuration that is not UTF-8. Returns false with `error` if it could not be recorded.
 */
bool recorder_store_keep_state(struct recorder_store *recorder, struct engine *engine,
			       const char *config, bool start, GError **error);

/*
 * Opens a transaction unless one is open, so that other writes to the run are committed together
 * with the recorder's. Returns false with `error` set, also if an earlier write had failed.
 */
bool recorder_store_join(struct recorder_store *recorder, GError **error);

/*
 * Commits the open transaction. Returns true, or false with `error` set, also if an earlier write
 * had failed (upon which the engine aborted the run).
 */
bool recorder_store_finish(struct recorder_store *recorder, GError **error);

/*
 * Packs the inputs of a run that has ended or stands still (store/input_pack.h), and commits, as
 * recorder_store_finish() does. Before its end that is done every STORE_PACK_INPUTS inputs.
 */
bool recorder_store_pack(struct recorder_store *recorder, GError **error);

/*
 * To be called when another write to the run failed, because of `reason` (copied): rolls back the
 * open transaction. All further writes fail.
 */
void recorder_store_fail(struct recorder_store *recorder, const GError *reason);

/* NULL is allowed. */
void recorder_store_free(struct recorder_store *recorder);

/*
 * Restores the recorded tasks and suspensions of an interrupted run into `engine`
 * (engine_restore_task()). Returns true, or false with `error` set if the rows cannot be read.
 *
 * `bad` says how tasks whose rows cannot be used are handled. NULL: the function returns false,
 * with `error`. Otherwise it is a table from task numbers (GUINT_TO_POINTER()) to reasons (text
 * that the table owns): the tasks in it are restored as quarantined, and further bad tasks are
 * added to it. If tasks were added, the engine is to be freed, and a new one restored with the
 * whole table. Rows of ended or waiting tasks that do not fit any more are not bad: their nodes no
 * longer matter. Rows with a number that no task has are ignored.
 */
bool recorder_store_restore(struct store *store, int64_t run, const struct engine_setup *setup,
			    struct engine *engine, GHashTable *bad, GError **error);
