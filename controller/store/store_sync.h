/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Brings commits of a store onto the disk, on a thread of its own, while the owner keeps writing;
 * one sync serves all requests that came before it. A commit alone survives the death of the
 * process; with this it survives a loss of power as well. The thread also moves the journal into
 * the file, which SQLite would do within a commit. Where that fails, all requests fail, since the
 * journal would grow without end. The last pages of a long journal are moved by a commit of the
 * owner from time to time, which takes about as long as a sync.
 */
struct store_sync;

/* All commits before the request are on disk; with `error` (borrowed) they are not. */
typedef void (*store_sync_done_f)(const GError *error, void *data);

/* A request for a callback, `done`, once everything is on disk. */
struct store_sync_request {
	store_sync_done_f done;
	void *data;
};

/*
 * For the store of this thread, from whose default main context `done` is called. The store must
 * live longer. NULL with `error` (DATABASE_ERROR).
 */
struct store_sync *store_sync_new(struct store *store, GError **error);

/*
 * Makes requests (struct store_sync_request), which one sync serves: it begins now, or when the one
 * under way has ended. Each `done` is called once, after this function has returned. After a
 * failure all later requests fail.
 */
void store_sync_ask_all(struct store_sync *sync, const GArray *requests);

/* Makes one request. */
void store_sync_ask(struct store_sync *sync, store_sync_done_f done, void *data);

/*
 * Answers all requests first, and brings the rest onto the disk. False with `error`: that failed,
 * now or before. NULL is allowed.
 */
bool store_sync_free(struct store_sync *sync, GError **error);
