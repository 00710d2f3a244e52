/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Reads stores on a thread of its own: what takes longer than those can wait whom the owner of the store serves
 * meanwhile. A question is answered from a connection of its own, and sees what was committed before, all of it as
 * of one moment. Questions are answered one after the other.
 */
struct store_reader;

/*
 * Answers `question` from `store`, on the thread: returns what `done` is given, or NULL with `error`. The store is
 * to be read only, and is borrowed.
 */
typedef void *(*store_read_f)(struct store *store, const void *question, GError **error);

/* What it returned, which is the callee's; NULL: it failed, because of `error` (borrowed). */
typedef void (*store_read_done_f)(void *answer, const GError *error, void *data);

/* For this thread, from whose default main context `done` is called. */
struct store_reader *store_reader_new(void);

/* A question that was asked, until `done` is called. */
struct store_reading;

/*
 * Calls `done` once, not before it returns. `question` lives until then; `store`, the owner's, may be closed before,
 * but not removed.
 */
struct store_reading *store_reader_ask(struct store_reader *reader, const struct store *store, store_read_f read,
				       const void *question, store_read_done_f done, void *data);

/*
 * Nobody wants to know any more: it has failed, unless it is being answered already; `done` is called in its turn.
 */
void store_reader_forget(struct store_reading *reading);

/* Calls `done` of all that was asked first; what had not begun has failed. NULL is allowed. */
void store_reader_free(struct store_reader *reader);
