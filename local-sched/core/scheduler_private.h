/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of scheduler.h, for its files alone: scheduler.c (its life, and what nodes and meters tell),
 * scheduler_jobs.c (what becomes of tasks), scheduler_requests.c (what is asked of tasks),
 * scheduler_retention.c (how long ended ones are kept) and scheduler_answers.c (what is asked about the
 * rest).
 */
#include "local-sched/core/host_usage.h"
#include "local-sched/core/scheduler.h"
#include "local-sched/executor/executor.h"
#include "local-sched/launch/task_queue.h"
#include "local-sched/power/power.h"
#include "local-sched/store/retention.h"

struct scheduler {
	struct scheduler_settings settings;
	const struct config_cluster *cluster;
	struct executor *executor; /* of the tasks that do not wait for their turn */
	bool *was_ready; /* by node */
	struct power *power;
	struct host_usage *usage; /* who used the CPUs while the meters counted */
	GPtrArray *tasks;    /* owned, oldest first */
	GHashTable *by_id;   /* id -> task */
	struct task_queue *queue; /* of the tasks that wait for their turn */
	guint turn_source;
	struct retention *retention; /* of what is over */
	guint retention_source;
	guint flush_source;
	void (*refused)(const char *reason, void *data);
	void *refused_data;
	void (*changed)(void *data);
	void *changed_data;
	bool stopping;
};

/* scheduler.c */

/* Tells who listens. */
void scheduler_changed(struct scheduler *scheduler);

/* Stores an event of a node (-1: none) or a host (NULL: none), and tells who listens. */
void scheduler_record(struct scheduler *scheduler, const char *kind, int64_t node, const char *host,
		      json_t *detail, int64_t t_ns);

/* The same of a task, which is stored as it is now. */
void scheduler_record_task(struct scheduler *scheduler, const struct task *task, const char *kind);

/* scheduler_jobs.c */

/* A suspension that was asked for did not come about. */
void scheduler_drop_suspension(struct task *task);

/* A migration that failed for all VMs leaves no record. */
void scheduler_drop_unmoved(struct task *task);

/* What executors tell of tasks. */
void scheduler_task_started(struct task *task, void *data);
void scheduler_task_results(struct task *task, GBytes *stream, void *data);
void scheduler_task_ended(struct task *task, const char *output, size_t length, void *data);
void scheduler_task_changed(struct task *task, enum executor_end how, const char *reason, void *data);
void scheduler_task_moved(struct task *task, const char *reason, void *data);
void scheduler_task_printed(void *data);
void scheduler_task_shared(struct task *task, const char *reason, void *data);

/* Starts a task that is stored, on nodes that are ready. */
void scheduler_start_task(struct scheduler *scheduler, struct task *task);

/* Whether it runs, as far as is known, so that it may be suspended, moved or given a share. */
bool scheduler_may_step(const struct scheduler *scheduler, const struct task *task);

/*
 * Whether the VMs on its nodes, which are ready, may be its user's as they are; with `renew` those that may
 * not are booted anew.
 */
bool scheduler_vms_suit(struct scheduler *scheduler, const struct task *task, bool renew);

/* Starts those that wait and whose turn has come; now, or as soon as whoever is on the stack is done. */
void scheduler_take_turns(struct scheduler *scheduler);
void scheduler_look_for_turns(struct scheduler *scheduler);

/* A task that waits for its turn is over; it never ran. */
void scheduler_end_queued(struct scheduler *scheduler, struct task *task, enum task_outcome outcome,
			  const char *reason);

/* scheduler_retention.c */

/* After the tasks of the past are known. */
void scheduler_begin_retention(struct scheduler *scheduler);

/* Whether task `id` is not known because it ended long ago, or a later attempt of it did. */
bool scheduler_is_past(const struct scheduler *scheduler, const char *id);
