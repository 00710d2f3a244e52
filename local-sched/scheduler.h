/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/virt_type.h"
#include "local-sched/store/task_store.h"

/*
 * The local scheduler of one cluster: its hosts, nodes, tasks and meters, joined. What the HTTP API
 * (api/api.h) offers is done here. Main loop only.
 */
struct scheduler;

/* What a scheduler is made of; all borrowed until it is freed, and open. */
struct scheduler_settings {
	const struct config *config;
	uint32_t cluster; /* index */
	const struct image *image; /* NULL: the cluster is simulated */
	struct task_store *store;
	const char *state_directory;
	enum virt_type_choice virt_type;
	double boot_timeout_s; /* of a node, for one try */
};

#define SCHEDULER_ERROR (scheduler_error_quark())
GQuark scheduler_error_quark(void);
enum scheduler_error {
	SCHEDULER_ERROR_CONFIG = 1, /* a configuration that a local scheduler cannot serve */
	SCHEDULER_ERROR_REQUEST,    /* makes no sense: status 400 */
	SCHEDULER_ERROR_UNKNOWN,    /* no such task: 404 */
	SCHEDULER_ERROR_CONFLICT,   /* another task of this name, a node that is not ready: 409 */
	SCHEDULER_ERROR_GONE,       /* it ended, and is kept no more: 410 */
	SCHEDULER_ERROR_NOT_NOW,    /* cannot be stored, shutting down: 503 */
};

/*
 * Starts: connects to the hosts, ends tasks that a predecessor left running as lost, adopts its VMs
 * or boots new ones. Returns NULL with `error` (SCHEDULER_ERROR_CONFIG, POWER_METER_ERROR) set.
 */
struct scheduler *scheduler_new(const struct scheduler_settings *settings, GError **error);

/* After scheduler_stop(), or for a scheduler whose VMs shall live on. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);
typedef struct scheduler scheduler_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(scheduler_t, scheduler_free)

/* Calls `changed` after every new event, and when the output of a task was looked at. */
void scheduler_listen(struct scheduler *scheduler, void (*changed)(void *data), void *data);

/*
 * Has `refused` called, from the main loop, where another local scheduler serves the cluster on one of its hosts, as
 * `reason` says, and has done so since before this one began: it is to be stopped. Nothing of the other's is touched.
 */
void scheduler_on_refused(struct scheduler *scheduler, void (*refused)(const char *reason, void *data), void *data);

/*
 * Ends all tasks as lost, removes all VMs and swap disks, and calls `done` from the main loop:
 * `clean` says whether all hosts could be reached for it.
 */
void scheduler_stop(struct scheduler *scheduler, void (*done)(bool clean, void *data), void *data);

/*
 * Starts task `id` as the body of PUT asks, or has it wait for its turn. Returns the task (borrowed), *ret_new telling
 * whether it is a new one, or NULL with `error` set.
 */
const struct task *scheduler_put_task(struct scheduler *scheduler, const char *id,
				      const json_t *body, bool *ret_new, GError **error);

/* Ends task `id`; one that has ended stays as it is. Returns it as it is now, or NULL: unknown. */
const struct task *scheduler_delete_task(struct scheduler *scheduler, const char *id);

/*
 * Suspends or resumes task `id` for the time `n` (the text in the request's path) as the body of
 * the PUT asks; return as scheduler_put_task().
 */
const struct task *scheduler_suspend_task(struct scheduler *scheduler, const char *id,
					  const char *n, const json_t *body, bool *ret_new,
					  GError **error);
const struct task *scheduler_resume_task(struct scheduler *scheduler, const char *id,
					 const char *n, const json_t *body, bool *ret_new,
					 GError **error);

/* Brings VMs of a task that runs to other nodes, for the time `n`; likewise. */
const struct task *scheduler_migrate_task(struct scheduler *scheduler, const char *id,
					  const char *n, const json_t *body, bool *ret_new,
					  GError **error);

/* Gives the VMs of a task that runs a share of their nodes' CPUs, the `n`th one; likewise. */
const struct task *scheduler_share_task(struct scheduler *scheduler, const char *id, const char *n,
					const json_t *body, bool *ret_new, GError **error);

/* What a task has printed so far, or in all. */
struct scheduler_output {
	GBytes *bytes;  /* owned */
	uint32_t looks; /* that it is of: it is more up to date where there are more */
	bool ended;     /* there will be no more */
};

/*
 * The output of `task` as far as it is known. scheduler_look() has more of it read from its guest, if
 * that can be asked now; `changed` is called when that was done.
 */
struct scheduler_output scheduler_output(const struct scheduler *scheduler,
					 const struct task *task);
void scheduler_look(struct scheduler *scheduler, const struct task *task);

/* Task `id` (borrowed), or NULL: unknown. */
const struct task *scheduler_task(const struct scheduler *scheduler, const char *id);

/*
 * Sets `error`: there is no task `id` (SCHEDULER_ERROR_UNKNOWN), or it, or a later attempt of it, ended long
 * ago (SCHEDULER_ERROR_GONE).
 */
void scheduler_say_unknown(const struct scheduler *scheduler, const char *id, GError **error);

/*
 * The controller has all events up to number `seq` on record: what that leaves nobody to ask for is removed
 * after service.retention_days (store/retention.h).
 */
void scheduler_taken(struct scheduler *scheduler, uint64_t seq);

/* All tasks, oldest first: GPtrArray of struct task, borrowed. */
GPtrArray *scheduler_tasks(const struct scheduler *scheduler);

/* The answers of docs/reference/api.md without now_ns; new references. */
json_t *scheduler_capabilities(const struct scheduler *scheduler);
/* GET /v1/nodes: state and reason of each. */
json_t *scheduler_nodes(const struct scheduler *scheduler);
/* GET /v1/energy: the counter of each host that has a meter. */
json_t *scheduler_energy(const struct scheduler *scheduler);
/* GET /v1/samples: those with a number above `after`, oldest first. */
json_t *scheduler_samples(const struct scheduler *scheduler, uint64_t after);
/* GET /v1/usage: whose CPU time it was between samples, from `after` on; begins to keep it. */
json_t *scheduler_usage(struct scheduler *scheduler, uint64_t after);

/* The store of tasks and events that it was given (borrowed). */
struct task_store *scheduler_store(const struct scheduler *scheduler);
