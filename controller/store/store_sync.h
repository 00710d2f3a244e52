/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Brings what a store has committed onto the disk, from a thread of its own: whoever writes goes on
 * meanwhile, and all that was committed by many goes there at once. A commit alone survives the death of the
 * process; what came through here a loss of power as well. The thread also moves the journal into the file,
 * which SQLite would do within a commit; where that fails so does all that is asked for, for the journal would grow
 * without end. Of a journal that has become long a commit of the owner moves the last pages, now and then, which takes
 * about as long as bringing those onto the disk.
 */
struct store_sync;

/* All that was committed when it was asked for is on disk; or is not, because of `error` (borrowed). */
typedef void (*store_sync_done_f)(const GError *error, void *data);

/*
 * For the store of this thread, whose default main context `done` is called from, and which is to live
 * longer. NULL with `error` (STORE_ERROR).
 */
struct store_sync *store_sync_new(struct store *store, GError **error);

/* Calls `done` once, not before it returns. After the first failure all that is asked for fails. */
void store_sync_ask(struct store_sync *sync, store_sync_done_f done, void *data);

/*
 * Answers all that was asked for first, and brings the rest onto the disk. False with `error`: that failed, now
 * or before. NULL is allowed.
 */
bool store_sync_free(struct store_sync *sync, GError **error);
