/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/launch/task.h"

/*
 * What a local scheduler must not forget: its tasks (stored before anything is done about them),
 * the numbered stream of events, and who it is. One SQLite file `local.sqlite` in the state
 * directory, in WAL mode without a sync per commit: what was committed survives the death of the
 * process at any instant; a machine that loses power has lost its VMs as well.
 *
 * Main thread only. Outputs of tasks are files, `tasks/ID.out` in the state directory, and what came out
 * of scripts `tasks/ID.files` (mode 0600, as all else there).
 */
struct task_store;
typedef struct task_store task_store_t;

#define TASK_STORE_ERROR (task_store_error_quark())
GQuark task_store_error_quark(void);
enum task_store_error {
	TASK_STORE_ERROR_OPEN = 1, /* the directory or file cannot be used, or another process does */
	TASK_STORE_ERROR_WRITE,    /* a disk that is full, say */
};

/* Opens the store in `directory`, made (mode 0700) if missing; one process at a time. */
struct task_store *task_store_open(const char *directory, GError **error);
/* NULL is allowed. */
void task_store_close(struct task_store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_store_t, task_store_close)

/* New whenever the state directory is new. Borrowed. */
const char *task_store_incarnation(const struct task_store *store);

/*
 * All tasks, oldest first: GPtrArray of struct task, freed with g_ptr_array_unref(). One whose record is
 * damaged has ended as lost from now on, with an event, and what there was is put aside, in the table
 * `damaged`. NULL with `error`: the table cannot be read.
 */
GPtrArray *task_store_load(struct task_store *store, GError **error);

/* Adds a task. Returns true once it is stored. */
bool task_store_add(struct task_store *store, const struct task *task, GError **error);

/*
 * Records what became of a task, and an event about it if `kind` is not NULL, both or neither.
 * Failures are kept in memory and tried again at the next call and at task_store_flush(): nothing
 * that happened is lost while the process lives. The event's number is returned; 0: no event.
 */
uint64_t task_store_update(struct task_store *store, const struct task *task, const char *kind);

/*
 * Records an event: its kind, when (clock_now_ns()), and what it is about (NULL or -1: nothing).
 * `detail` is borrowed and may be NULL. Returns its number.
 */
uint64_t task_store_event(struct task_store *store, const char *kind, int64_t t_ns,
			  const char *task, int64_t node, const char *host, json_t *detail);

/*
 * Records that VM `number` is on `host` from now on and nowhere else, or that it may come to be on
 * `host` as well: one that outlives its scheduler is to be looked for there. False: not stored.
 */
bool task_store_keep_host(struct task_store *store, uint32_t number, const char *host);
bool task_store_expect_host(struct task_store *store, uint32_t number, const char *host);

/* Forgets all of that: there are no VMs any more. */
void task_store_forget_hosts(struct task_store *store);

/*
 * What was recorded last for VM `number`: where it is, and where it may be as well; NULL: nothing.
 * The caller frees it.
 */
char *task_store_host(struct task_store *store, uint32_t number);
char *task_store_expected_host(struct task_store *store, uint32_t number);

/* Writes what could not be written before; false if it still cannot be. */
bool task_store_flush(struct task_store *store);

/* The number of the last event; 0: none yet. */
uint64_t task_store_last_event(const struct task_store *store);

/* Events numbered above `after`, at most `limit`, as the array of docs/reference/api.md; a new reference. */
json_t *task_store_events(struct task_store *store, uint64_t after, uint32_t limit);

/* Keeps the output of task `id`. */
bool task_store_save_output(struct task_store *store, const char *id, const char *text,
			    size_t length, GError **error);

/* The output of task `id`, or NULL: none. The caller owns it. */
GBytes *task_store_output_bytes(const struct task_store *store, const char *id);

/* The output of task `id` as valid UTF-8, or NULL: none. The caller frees it. */
char *task_store_output(const struct task_store *store, const char *id);

/* Keeps the stream of files that came out of task `id`; reads it, or NULL: none. The caller owns it. */
bool task_store_save_results(struct task_store *store, const char *id, GBytes *stream,
			     GError **error);
GBytes *task_store_results(const struct task_store *store, const char *id);
