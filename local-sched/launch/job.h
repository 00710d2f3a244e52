/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"
#include "local-sched/hypervisor/pool.h"
#include "local-sched/launch/job_usage.h"
#include "local-sched/launch/migration.h"
#include "local-sched/launch/patience.h"
#include "local-sched/launch/pmi_server.h"
#include "local-sched/launch/task_events.h"

/*
 * The execution of a task. A job starts the task's ranks through the agents of its nodes, and
 * connects them by a PMI server behind the nodes' PMI ports. A rank's end shows on its port at
 * once, as a line that virtbed-rank writes; its status and output are then fetched from the agent.
 * A slow poll of the agents finds what the ports cannot report: a wrapper that died, an agent that
 * hangs.
 *
 * The first failure decides the outcome. The remaining ranks are then killed, and a VM whose ranks
 * do not die is removed. Main loop only.
 */
struct job;

/* The parts of a job; borrowed until it is freed. */
struct job_settings {
	const struct platform *platform;
	struct task *task;            /* the job writes the fields under "What became of it" */
	struct pool *pool;            /* the nodes of the cluster */
	struct usage_source *sources; /* sources_count of them, by host */
	uint32_t sources_count;
	uint32_t cores;            /* per node */
	struct patience *patience; /* learns from tasks that complete; NULL: not used */
	/* The job has ended, before the event `ended`: its owner frees it. */
	void (*release)(struct job *job, void *owner);
	void *owner;
};

/* Starts a task, whose nodes must all be ready. No event comes before this returns. */
struct job *job_start(const struct job_settings *settings, const struct task_events *events,
		      void *data);

/* Whether the task may be suspended now: all its ranks run as far as known. */
bool job_may_suspend(const struct job *job);

/*
 * Suspends a task for which job_may_suspend() holds, as its last suspension says. Ends with
 * `changed` or `ended`.
 */
void job_suspend(struct job *job);

/* Like suspension_match_nodes(), for a task that is suspended. */
bool job_match_nodes(const struct job *job, uint32_t *nodes, GError **error);

/* Resumes a suspended task at the nodes of its last suspension. Ends with `changed` or `ended`. */
void job_resume(struct job *job);

/*
 * job_match_targets() is like pool_match(). job_migrate() then moves the VMs while the task runs,
 * as its last migration says, and ends with `moved` or `ended`. Both for a task for which
 * job_may_suspend() holds.
 */
bool job_match_targets(const struct job *job, uint32_t *nodes, GError **error);
void job_migrate(struct job *job);

/*
 * Applies the task's CPU share to its VMs, for a task for which job_may_suspend() holds. Ends with
 * `shared` or `ended`.
 */
void job_share(struct job *job);

/*
 * Reads what rank 0 has written to its standard output since the last read. Ends with `printed`.
 * Does nothing, without an event, while its VM cannot be asked, or if the last read was a moment
 * ago.
 */
void job_look(struct job *job);

/*
 * The output of rank 0 that was read so far, after *ret_looks reads: *ret_length bytes, borrowed
 * until the main loop runs again. The task's output at its end begins with these bytes.
 */
const char *job_printed(const struct job *job, size_t *ret_length, uint32_t *ret_looks);

/* A node is settled (node.h); pass the pool's event on. */
void job_node_settled(struct job *job);

/* Ends the task with `outcome`, `cause` and `reason`, unless it is ending already. */
void job_kill(struct job *job, enum task_outcome outcome, enum task_cause cause,
	      const char *reason);

/*
 * Whether CPU time that the VM uses now counts as the task's: from the task's start to its end,
 * except while the VM stands still.
 */
bool job_uses(const struct job *job, const char *domain);

/* The job's task. */
struct task *job_task(const struct job *job);

/* Frees a job that has ended, or any job during a shutdown. NULL is allowed. */
void job_free(struct job *job);
