/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/node.h"
#include "local-sched/launch/job_usage.h"
#include "local-sched/launch/pmi_server.h"
#include "local-sched/launch/task.h"

/*
 * A task being carried out: its ranks are started through the agents of its nodes and wired by a PMI
 * server behind the nodes' PMI ports. A rank's end is seen on its port at once (virtbed-rank writes a
 * line), then its status and output are fetched from the agent. A slow poll of the agents finds what
 * the ports cannot tell: a wrapper that died, an agent that hangs.
 *
 * The first thing that goes wrong decides the outcome; the remaining ranks are then killed, and a VM
 * whose ranks do not die is removed. Main loop only.
 */
struct job;

/* What a job tells. Both are required. */
struct job_events {
	/* All ranks are started: the task is TASK_RUNNING with its started_ns. */
	void (*started)(struct job *job, void *data);
	/*
	 * The task is TASK_ENDED with its outcome, and its nodes are ready again or known to be down.
	 * `output` is for people. The job is to be freed.
	 */
	void (*ended)(struct job *job, const char *output, size_t length, void *data);
};

/* What a job needs; borrowed until it is freed. */
struct job_settings {
	struct task *task;         /* its "what became of it" is written */
	struct node *const *nodes; /* all nodes of the cluster, by index */
	uint32_t cores;            /* per node */
};

/*
 * Starts a task, whose nodes must all be ready. `usage` (struct usage_part) is taken over. Nothing is
 * told before this returns.
 */
struct job *job_start(const struct job_settings *settings, GArray *usage,
		      const struct job_events *events, void *data);

/* Ends the task with `outcome` and `reason` if nothing else ended it already. */
void job_kill(struct job *job, enum task_outcome outcome, const char *reason);

/* The task. */
struct task *job_task(const struct job *job);

/* Frees a job that has ended, or all are being shut down. NULL is allowed. */
void job_free(struct job *job);
