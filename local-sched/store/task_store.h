/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"
#include "local-sched/launch/task.h"

/*
 * The persistent state of a local scheduler: its tasks (each stored before anything is done about
 * it), the numbered stream of events, and its identity. It is an SQLite file `local.sqlite` in the
 * state directory, in WAL mode without a sync per commit. A commit survives the death of the
 * process at any instant; a machine that loses power has lost its VMs as well.
 *
 * Main thread only. Errors are DATABASE_ERROR (common/sqlite/database.h). Outputs of tasks are
 * files, `tasks/ID.out` in the state directory, and the results of scripts are `tasks/ID.files`
 * (mode 0600, as all other files there).
 */
struct task_store;
typedef struct task_store task_store_t;

/* Opens the store in `directory`, created (mode 0700) if missing. One process at a time. */
struct task_store *task_store_open(const struct platform *platform, const char *directory,
				   GError **error);
/* NULL is allowed. */
void task_store_close(struct task_store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_store_t, task_store_close)

/* A text that is new with every new state directory. Borrowed. */
const char *task_store_incarnation(const struct task_store *store);

/*
 * All tasks, oldest first: GPtrArray of struct task, freed with g_ptr_array_unref(). A task whose
 * record is damaged ends as lost, with an event, and the damaged record is moved to the table
 * `damaged`. NULL with `error`: the table cannot be read.
 */
GPtrArray *task_store_load(struct task_store *store, GError **error);

/* Adds a task. Returns true once it is stored. */
bool task_store_add(struct task_store *store, const struct task *task, GError **error);

/*
 * Records a task's state, and an event about it if `kind` is not NULL: both or neither. A failed
 * write is kept in memory and repeated at the next call and at task_store_flush(), so that nothing
 * is lost while the process lives. Returns the event's number; 0: no event.
 */
uint64_t task_store_update(struct task_store *store, const struct task *task, const char *kind);

/*
 * Records an event: its kind, its time (platform_now_ns()), and its subjects (NULL or -1: none).
 * `detail` is borrowed and may be NULL. Returns its number.
 */
uint64_t task_store_event(struct task_store *store, const char *kind, int64_t t_ns,
			  const char *task, int64_t node, const char *host, json_t *detail);

/*
 * Records that VM `number` is on `host` from now on and on no other, or that it may be on `host` as
 * well. A VM that outlives its scheduler is then looked for there. False: not stored.
 */
bool task_store_keep_host(struct task_store *store, uint32_t number, const char *host);
bool task_store_expect_host(struct task_store *store, uint32_t number, const char *host);

/* Removes all records of VMs: there are none any more. */
void task_store_forget_hosts(struct task_store *store);

/*
 * The host recorded last for VM `number`; and the second host on which it may be. NULL: none. The
 * caller frees it.
 */
char *task_store_host(struct task_store *store, uint32_t number);
char *task_store_expected_host(struct task_store *store, uint32_t number);

/* Repeats failed writes; false if any still fails. */
bool task_store_flush(struct task_store *store);

/* The number of the last event; 0: none yet. */
uint64_t task_store_last_event(const struct task_store *store);

/*
 * Events with numbers above `after`, at most `limit`, as the array of docs/reference/api.md; a new
 * reference.
 */
json_t *task_store_events(struct task_store *store, uint64_t after, uint32_t limit);

/* Stores the output of task `id`. */
bool task_store_save_output(struct task_store *store, const char *id, const char *text,
			    size_t length, GError **error);

/* The output of task `id`, or NULL: none. The caller owns it. */
GBytes *task_store_output_bytes(const struct task_store *store, const char *id);

/* The output of task `id` as valid UTF-8, or NULL: none. The caller frees it. */
char *task_store_output(const struct task_store *store, const char *id);

/* Store the stream of result files of task `id`; and read it, or NULL: none. The caller owns it. */
bool task_store_save_results(struct task_store *store, const char *id, GBytes *stream,
			     GError **error);
GBytes *task_store_results(const struct task_store *store, const char *id);
