/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Reads stores on a thread of its own, for queries that would block the owner of the store for too
 * long. Each question is answered from a new connection, on a consistent view of everything
 * committed before. Questions are answered one after the other.
 */
struct store_reader;

/*
 * Answers `question` from `store`, on the thread: returns the answer for `done`, or NULL with
 * `error`. The store is borrowed, and only read.
 */
typedef void *(*store_read_f)(struct store *store, const void *question, GError **error);

/* Gets the answer, which it owns; NULL after a failure, with `error` (borrowed). */
typedef void (*store_read_done_f)(void *answer, const GError *error, void *data);

/* For this thread, from whose default main context `done` is called. */
struct store_reader *store_reader_new(void);

/* A question, until `done` is called. */
struct store_reading;

/*
 * Asks a question. Calls `done` once, after this function has returned. `question` must live until
 * then; `store`, the owner's, may be closed before, but its file not removed.
 */
struct store_reading *store_reader_ask(struct store_reader *reader, const struct store *store,
				       store_read_f read, const void *question,
				       store_read_done_f done, void *data);

/* Withdraws a question: unless it is being answered already, it fails. `done` is still called. */
void store_reader_forget(struct store_reading *reading);

/* Calls `done` of all questions first; those that were not begun fail. NULL is allowed. */
void store_reader_free(struct store_reader *reader);
