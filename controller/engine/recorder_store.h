/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "controller/engine/engine.h"
#include "controller/store/store.h"

/*
 * A recorder that writes a run to the store: a row per task and per suspension, its events and its
 * decisions with the snapshots they were made from. Writes are grouped into transactions.
 */
struct recorder_store;

/*
 * Records run `run` (a row id) of `store`, which stays the caller's and must outlive the recorder.
 * `system` is borrowed as well. `durable`: commits before the backend is asked for anything, so
 * that whatever it was asked for is on record; otherwise everything is one transaction, for runs
 * that can simply be simulated again. Never fails.
 */
struct recorder_store *recorder_store_new(struct store *store, int64_t run,
					  const struct sched_system *system, bool durable);

/*
 * Of decisions on more than `most` tasks no snapshot is recorded, only how many tasks there were
 * (`left_out`), and no action that promises something until the next event. At first there is no limit.
 */
void recorder_store_limit(struct recorder_store *recorder, uint32_t most);

/*
 * Has `told` called with each event of the engine when it was recorded, which may still be rolled back; `detail` may be
 * NULL. Both are borrowed for the call.
 */
void recorder_store_tell(struct recorder_store *recorder,
			 void (*told)(const char *kind, const char *detail));

/* What goes into engine_setup.recorder; valid until recorder_store_free(). */
struct engine_recorder *recorder_store_engine(struct recorder_store *recorder);

/*
 * Opens a transaction unless one is open: what somebody else writes of the run goes on record with what the recorder
 * writes. Returns false with `error` set, also when an earlier write had failed.
 */
bool recorder_store_join(struct recorder_store *recorder, GError **error);

/*
 * Commits what is open. Returns true, or false with `error` set, also when an earlier write had
 * failed (upon which the engine aborted the run).
 */
bool recorder_store_finish(struct recorder_store *recorder, GError **error);

/*
 * Something that belongs to what is recorded could not be written, because of `reason` (copied): what is
 * open is undone, and nothing more is recorded; from then on every write fails.
 */
void recorder_store_fail(struct recorder_store *recorder, const GError *reason);

/* NULL is allowed. */
void recorder_store_free(struct recorder_store *recorder);

/*
 * Puts the recorded tasks and suspensions of an interrupted run back into `engine`
 * (engine_restore_task()). Returns true, or false with `error` set when the rows cannot be read.
 *
 * `bad` says what becomes of tasks whose rows cannot be used. NULL: false, with `error`. Else it is a
 * table of task numbers (GUINT_TO_POINTER()) and why (text, which the table owns): the tasks in it are
 * put back as quarantined, and those that turn out to be bad are added to it. Where some were added,
 * the engine is to be thrown away, and the next one is to have them from the beginning. Rows that fit no
 * more of tasks that have ended, or that wait, are none of the kind: where those were is no matter.
 * Rows whose number none of the tasks has are left out.
 */
bool recorder_store_restore(struct store *store, int64_t run, const struct engine_setup *setup,
			    struct engine *engine, GHashTable *bad, GError **error);
