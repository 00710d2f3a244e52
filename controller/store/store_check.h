/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Looks over a whole file that store_open_to_serve() opened, from a thread of its own that goes behind all
 * others, while the file is read and written: that takes as long as the file is large, which may be minutes.
 */
struct store_check;

/* The file is sound; or is not, or cannot be read, because of `error` (borrowed): it names file and damage. */
typedef void (*store_check_done_f)(const GError *error, void *data);

/* Calls `done` once, not before it returns, from this thread's default main context. */
struct store_check *store_check_new(const struct store *store, store_check_done_f done, void *data);

/* Ends it, wherever it is; `done` is not called any more. NULL is allowed. */
void store_check_free(struct store_check *check);
