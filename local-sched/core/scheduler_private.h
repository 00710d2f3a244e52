/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * What the files of the scheduler share: scheduler.c (life cycle, events of nodes and meters),
 * scheduler_requests.c (what the API requests: operations on tasks, and documents),
 * scheduler_steps.c (operations on tasks that are under way) and scheduler_jobs.c (events of tasks,
 * what is recorded of them and how long). Each names only functions of those after it.
 */
#include "local-sched/core/host_usage.h"
#include "local-sched/core/scheduler.h"
#include "local-sched/executor/executor.h"
#include "local-sched/launch/task_operation.h"
#include "local-sched/launch/task_queue.h"
#include "local-sched/power/power.h"
#include "local-sched/store/retention.h"

struct scheduler {
	struct scheduler_settings settings;
	const struct config_cluster *cluster;
	struct executor *executor; /* executes the tasks that are not queued */
	bool *was_ready;           /* by node */
	struct power *power;
	struct host_usage *usage; /* CPU time by task while the meters counted */
	GPtrArray *tasks;         /* owned, oldest first */
	GHashTable *by_id;        /* id -> task */
	struct task_queue *queue; /* tasks that wait for their turn */
	guint turn_source;
	struct retention *retention; /* of ended tasks and old events */
	guint retention_source;
	guint flush_source;
	void (*refused)(const char *reason, void *data);
	void *refused_data;
	void (*changed)(void *data);
	void *changed_data;
	bool stopping;
};

/* A request for an operation that is being handled. */
struct operation {
	struct scheduler *scheduler;
	const char *id;                /* of the task */
	struct task *task;             /* borrowed; NULL: there is none with that id */
	struct task *made;             /* START: as requested; owned until the task is known */
	struct task_operation request; /* of the other kinds; its nodes are owned */
	/* What the intent replaced in the task. */
	int64_t resume_attempt_before;  /* RESUME: of its last suspension */
	struct task_share share_before; /* SHARE */
};

/* What distinguishes a kind of operations. All are required but where it says so. */
struct operation_kind {
	/* Reads the request. False with `error`: it is invalid, or its task is not known. */
	bool (*parse)(struct operation *operation, const char *n, const json_t *body,
		      GError **error);
	/* Whether it repeats a request; the answer is the task as it is. */
	bool (*is_repetition)(const struct operation *operation);
	/* Whether it is possible now; may put the request's nodes in order. NULL: always. */
	bool (*may)(struct operation *operation, GError **error);
	/*
	 * The intent: record it in the task, store the task, and remove the intent again if it
	 * could not be stored, so that the task is as it was; a START's task is then not known.
	 * NULL: a kill, of which only the end is stored.
	 */
	void (*apply)(struct operation *operation);
	bool (*store)(const struct operation *operation, GError **error);
	void (*undo)(struct operation *operation);
	/* Does it, or begins to. */
	void (*carry_out)(struct scheduler *scheduler, struct task *task);
};

/* scheduler_steps.c */

extern const struct operation_kind scheduler_suspend_kind;
extern const struct operation_kind scheduler_resume_kind;
extern const struct operation_kind scheduler_migrate_kind;
extern const struct operation_kind scheduler_share_kind;

/* scheduler_jobs.c */

/* Calls the listener, if any. */
void scheduler_changed(struct scheduler *scheduler);

/* Stores an event of a node (-1: none) or a host (NULL: none), and calls the listener. */
void scheduler_record(struct scheduler *scheduler, const char *kind, int64_t node, const char *host,
		      json_t *detail, int64_t t_ns);

/* Stores a task with an event about it, and calls the listener. */
void scheduler_record_task(struct scheduler *scheduler, const struct task *task, const char *kind);

/*
 * Removes the records of operations that were under way when the task ended: a suspension that did
 * not stop it, a migration that moved no VM.
 */
void scheduler_drop_open(struct task *task);

/* The executor's events about tasks. */
void scheduler_task_started(struct task *task, void *data);
void scheduler_task_results(struct task *task, GBytes *stream, void *data);
void scheduler_task_ended(struct task *task, const char *output, size_t length, void *data);
void scheduler_task_changed(struct task *task, const char *reason, void *data);
void scheduler_task_moved(struct task *task, const char *reason, void *data);
void scheduler_task_printed(void *data);
void scheduler_task_shared(struct task *task, const char *reason, void *data);

/* Whether all of the nodes can take a task now; `error` says which one cannot. */
bool scheduler_nodes_ready(const struct scheduler *scheduler, const uint32_t *nodes, uint32_t count,
			   GError **error);

/*
 * Whether the VMs on the task's nodes, which are ready, may be used by the task's user as they are.
 * With `renew`, VMs that may not are replaced by freshly booted ones.
 */
bool scheduler_vms_suit(struct scheduler *scheduler, const struct task *task, bool renew);

/*
 * Starts the queued tasks whose turn has come: now, or, inside a callback of the executor, when it
 * returns.
 */
void scheduler_take_turns(struct scheduler *scheduler);
void scheduler_look_for_turns(struct scheduler *scheduler);

/* Ends a queued task, which never ran. */
void scheduler_end_queued(struct scheduler *scheduler, struct task *task, enum task_outcome outcome,
			  const char *reason);

/* Call it after the tasks of the past are loaded. */
void scheduler_begin_retention(struct scheduler *scheduler);

/* Whether task `id` is unknown because it, or a later attempt of it, ended long ago. */
bool scheduler_is_past(const struct scheduler *scheduler, const char *id);
