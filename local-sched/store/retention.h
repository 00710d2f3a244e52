/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "local-sched/store/task_store.h"

/*
 * How long a local scheduler keeps what is over. A controller says up to which event it has all on record
 * (`taken`, docs/reference/api.md). What it had on record for `keep_s` may go: those events, and the tasks whose end is
 * among them, with their output and files. Only time in which the controller asks counts, so that one that was
 * away finds all that it has not seen, and for as long again. Of a task that went its name stays, so that it
 * is not carried out once more: of those that differ in the number at their end, the attempts of a task, the
 * highest one.
 *
 * Little is removed at a time. Main thread only.
 */
struct retention;
typedef struct retention retention_t;

/* Whom the tasks belong to. */
struct retention_tasks {
	/* Whether task `id` has ended, and nobody is about to use it. */
	bool (*may_go)(const char *id, void *data);
	/* It went from the store. */
	void (*gone)(const char *id, void *data);
	void *data;
};

/* `store` and `tasks` are borrowed; `keep_s` > 0. */
struct retention *retention_new(struct task_store *store, double keep_s,
				const struct retention_tasks *tasks);
/* NULL is allowed. */
void retention_free(struct retention *retention);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(retention_t, retention_free)

/*
 * The controller asks, at `now_ns` (clock_now_ns()), and has all events up to number `seq` on record. Numbers
 * that there are not are passed over: it takes this for another local scheduler.
 */
void retention_taken(struct retention *retention, uint64_t seq, int64_t now_ns);

/*
 * Removes some of what may go, for no more than some milliseconds. Returns whether more may go now; false,
 * too, when the store cannot be written: then it is tried again after the next retention_taken(). A task of which
 * a file cannot be removed stays, with the event of its end, and people are told; it is tried again when
 * later events may go, too.
 */
bool retention_step(struct retention *retention);

/* Whether task `id` went, or a later attempt of it. */
bool retention_is_past(const struct retention *retention, const char *id);
