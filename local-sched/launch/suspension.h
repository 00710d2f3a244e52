/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/pool.h"
#include "local-sched/launch/suspension_step.h"
#include "local-sched/launch/task_suspension.h"

/*
 * Suspending and resuming all VMs of one task as one act, as often as it is asked for; the steps
 * and what is done when one fails are in suspension_step.h. VMs keep their identity: names,
 * addresses and PMI ports go with them from node to node. Main loop only.
 */
struct suspension;

/* What came of a request. */
enum suspension_end {
	SUSPENSION_END_SUSPENDED = 0,
	SUSPENSION_END_RESUMED,
	SUSPENSION_END_STAYED, /* rolled back: the task runs, or is suspended, as before */
	SUSPENSION_END_LOST,   /* could not be rolled back: the task is to be ended */
};

/* What a suspension tells and asks of the task. All are required. */
struct suspension_events {
	/*
	 * Whether no question to a guest is under way; if not, suspension_go_on() is called when
	 * none is.
	 */
	bool (*is_quiet)(void *data);
	/*
	 * The VMs stand still, or run again, since `t_ns`. After `stopped`, suspension_go_on() is
	 * called when what the task used until then was read.
	 */
	void (*stopped)(int64_t t_ns, void *data);
	void (*runs)(int64_t t_ns, void *data);
	/* When something was sent to a PMI port last, clock_now_ns(). */
	int64_t (*last_sent_ns)(void *data);
	/* The end of a request; `reason` is NULL where it went well. */
	void (*ended)(enum suspension_end end, const char *reason, void *data);
	/* After suspension_cancel(): the VMs may be removed. */
	void (*doomed)(void *data);
};

/* What a suspension is of; borrowed until it is freed, the arrays are copied. */
struct suspension_settings {
	const char *task;                 /* for messages */
	struct pool *pool;
	struct vm *const *vms;  /* count of them, all busy with the task */
	const uint32_t *nodes;            /* where they are, in the same order */
	uint32_t count;
};

/* A suspension of VMs that run. */
struct suspension *suspension_new(const struct suspension_settings *settings,
				  const struct suspension_events *events, void *data);

/* Frees it, also while something is under way; nothing is told any more. NULL is allowed. */
void suspension_free(struct suspension *suspension);

/*
 * Suspends running VMs; times and what was decided go to `record`, borrowed until it is resumed or
 * fails.
 */
void suspension_suspend(struct suspension *suspension, struct task_suspension *record);

/*
 * Resumes suspended VMs at the nodes in the record, which are ready; VMs are brought to their
 * hosts.
 */
void suspension_resume(struct suspension *suspension);

/* As pool_match(), for VMs that are at no nodes. */
bool suspension_match_nodes(const struct suspension *suspension, uint32_t *nodes, GError **error);

/* What the suspension waits for may have happened: see the events, and a node that is settled. */
void suspension_go_on(struct suspension *suspension);

/* A VM's ports are open, or `error` says why not. */
void suspension_wired(struct suspension *suspension, struct vm *vm, const GError *error);

/* The task ends while its VMs run: nothing more is done about them. */
void suspension_abort(struct suspension *suspension);

/* The task ends while its VMs stand still: ends with `doomed`, perhaps before this returns. */
void suspension_cancel(struct suspension *suspension);

/* Where it is. */
enum suspension_step suspension_step(const struct suspension *suspension);
