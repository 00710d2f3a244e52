/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/hypervisor/image.h"
#include "local-sched/hypervisor/virt_type.h"
#include "local-sched/store/task_store.h"

/*
 * The local scheduler of a cluster: its hosts, nodes, tasks and meters together. The HTTP API
 * (api/api.h) offers the functions below. Main loop only.
 */
struct scheduler;

/* The parts of a scheduler; all are borrowed, and must stay open, until it is freed. */
struct scheduler_settings {
	const struct platform *platform;
	const struct config *config;
	uint32_t cluster;          /* index */
	const struct image *image; /* NULL: the cluster is simulated */
	struct task_store *store;
	const char *state_directory;
	enum virt_type_choice virt_type;
	double boot_timeout_s; /* limit of one boot of a node */
};

#define SCHEDULER_ERROR (scheduler_error_quark())
GQuark scheduler_error_quark(void);
enum scheduler_error {
	SCHEDULER_ERROR_CONFIG = 1, /* a configuration that a local scheduler cannot serve */
	SCHEDULER_ERROR_UNKNOWN,    /* no such task: 404 */
	SCHEDULER_ERROR_CONFLICT,   /* another task of this name, a node that is not ready: 409 */
	SCHEDULER_ERROR_GONE,       /* the task has ended, and is not kept any more: 410 */
	/* the request cannot be stored, or the scheduler shuts down: 503 */
	SCHEDULER_ERROR_NOT_NOW,
};

/*
 * Starts: connects to the hosts, ends tasks that a predecessor left running as lost, and adopts its
 * VMs or boots new ones. Returns NULL with `error` (SCHEDULER_ERROR_CONFIG, EXECUTOR_ERROR,
 * POWER_METER_ERROR) set.
 */
struct scheduler *scheduler_new(const struct scheduler_settings *settings, GError **error);

/* Call it after scheduler_stop(), or alone, which leaves the VMs running. NULL is allowed. */
void scheduler_free(struct scheduler *scheduler);
typedef struct scheduler scheduler_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(scheduler_t, scheduler_free)

/* Calls `changed` after every new event, and after every scheduler_look() that has ended. */
void scheduler_listen(struct scheduler *scheduler, void (*changed)(void *data), void *data);

/*
 * Calls `refused`, from the main loop, if another local scheduler serves the cluster on one of its
 * hosts, as `reason` says, and has done so since before this one started. Stop this one then.
 * Nothing of the other's is touched.
 */
void scheduler_on_refused(struct scheduler *scheduler,
			  void (*refused)(const char *reason, void *data), void *data);

/*
 * Ends all tasks as lost, removes all VMs and swap disks, and calls `done` from the main loop.
 * `clean`: all hosts could be reached for it.
 */
void scheduler_stop(struct scheduler *scheduler, void (*done)(bool clean, void *data), void *data);

/* The kinds of operations on a task. */
enum scheduler_operation {
	SCHEDULER_START = 0, /* now, or when its turn has come */
	SCHEDULER_SUSPEND,
	SCHEDULER_RESUME,
	SCHEDULER_MIGRATE, /* some or all VMs of a running task, to other nodes */
	SCHEDULER_SHARE,   /* the VMs of a running task get a share of their nodes' CPUs */
	SCHEDULER_KILL,    /* to end it, unless it has ended */
};

/*
 * Carries out a request for an operation on task `id`. `n` is the text in the request's path, the
 * number of the suspension, migration or share, and `body` the body of the PUT; each may be NULL
 * for a kind that has none. Returns the task (borrowed), with *ret_new saying whether a new intent
 * was stored, as none is for a kill. NULL with `error`, and nothing is done: SCHEDULER_ERROR, or
 * TASK_ERROR or JSON_ERROR for an invalid request (status 400).
 */
const struct task *scheduler_operate(struct scheduler *scheduler, enum scheduler_operation of,
				     const char *id, const char *n, const json_t *body,
				     bool *ret_new, GError **error);

/* The output of a task: what it has printed so far, or all of it. */
struct scheduler_output {
	GBytes *bytes;  /* owned */
	uint32_t looks; /* reads from the guest so far; more reads mean a newer output */
	bool ended;     /* the output is complete */
};

/*
 * scheduler_output() returns the output of `task` as far as it is known. scheduler_look() reads
 * more of it from the guest, if that is possible now, and has `changed` called at the end.
 */
struct scheduler_output scheduler_output(const struct scheduler *scheduler,
					 const struct task *task);
void scheduler_look(struct scheduler *scheduler, const struct task *task);

/* The platform of its settings. */
const struct platform *scheduler_platform(const struct scheduler *scheduler);

/* Task `id` (borrowed), or NULL: unknown. */
const struct task *scheduler_task(const struct scheduler *scheduler, const char *id);

/*
 * Sets `error`: there is no task `id` (SCHEDULER_ERROR_UNKNOWN), or it, or a later attempt of it,
 * ended long ago (SCHEDULER_ERROR_GONE).
 */
void scheduler_set_unknown_error(const struct scheduler *scheduler, const char *id, GError **error);

/*
 * Records that the controller has all events up to number `seq` on record. Tasks and events that it
 * does not need any more are removed after service.retention_days (store/retention.h).
 */
void scheduler_taken(struct scheduler *scheduler, uint64_t seq);

/* All tasks, oldest first: GPtrArray of struct task, borrowed. */
GPtrArray *scheduler_tasks(const struct scheduler *scheduler);

/* The documents about a scheduler (docs/reference/api.md). */
enum scheduler_document {
	SCHEDULER_CAPABILITIES = 0,
	SCHEDULER_NODES,   /* state and reason of each */
	SCHEDULER_ENERGY,  /* the counter of each host that has a meter */
	SCHEDULER_SAMPLES, /* with a number above `after`, oldest first */
	/*
	 * CPU time by task between samples, from number `after` on; the first call begins to
	 * collect it
	 */
	SCHEDULER_USAGE,
};

/* A document without now_ns; a new reference. */
json_t *scheduler_document(struct scheduler *scheduler, enum scheduler_document document,
			   uint64_t after);

/* The store of tasks and events that it was given (borrowed). */
struct task_store *scheduler_store(const struct scheduler *scheduler);
