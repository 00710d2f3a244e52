/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store.h"

/*
 * Checks a whole file that store_open_on() opened, on a thread of low priority, while the
 * file is in use. It takes time in proportion to the file's size, up to minutes.
 */
struct store_check;

/*
 * `error` (borrowed) names the file and the damage, or why the file cannot be read; NULL: the file
 * is sound.
 */
typedef void (*store_check_done_f)(const GError *error, void *data);

/*
 * Starts a check. Calls `done` once, after this function has returned, from this thread's default
 * main context. Without a thread for it the file is not checked, and `done` is not called.
 */
struct store_check *store_check_new(const struct store *store, store_check_done_f done, void *data);

/* Ends the check, at any point; `done` is not called any more. NULL is allowed. */
void store_check_free(struct store_check *check);
