/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "local-sched/store/task_store.h"

/*
 * How long a local scheduler keeps ended tasks and old events. A controller reports up to which
 * event it has all on record (`taken`, docs/reference/api.md). Events that it has had on record for
 * `keep_s` are removed, and with the event of its end a task, with its output and files. Only time
 * in which the controller sends requests counts: a controller that was away finds everything that
 * it has not seen, for keep_s more. The name of a removed task stays, so that the task is not
 * executed again. Of names that differ only in the number at their end, the attempts of a task, the
 * highest is kept.
 *
 * Little is removed at a time. Main thread only.
 */
struct retention;
typedef struct retention retention_t;

/* Access to the tasks of the scheduler. */
struct retention_tasks {
	/* Whether task `id` has ended and is not in use. */
	bool (*may_go)(const char *id, void *data);
	/* Task `id` was removed from the store. */
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
 * Records a request of the controller at `now_ns` (platform_now_ns()), which has all events up to
 * number `seq` on record. A number that does not exist yet is ignored: the controller takes this
 * local scheduler for another one.
 */
void retention_taken(struct retention *retention, uint64_t seq, int64_t now_ns);

/*
 * Removes some of what may be removed, for at most some milliseconds. Returns whether more may be
 * removed now. Returns false also when the store cannot be written; the next retention_taken()
 * tries again. A task with a file that cannot be removed stays, with the event of its end, and a
 * warning is logged; it is tried again when later events may be removed.
 */
bool retention_step(struct retention *retention);

/* Whether task `id`, or a later attempt of it, was removed. */
bool retention_is_past(const struct retention *retention, const char *id);
