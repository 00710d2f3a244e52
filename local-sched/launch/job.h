/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/pool.h"
#include "local-sched/launch/job_usage.h"
#include "local-sched/launch/migration.h"
#include "local-sched/launch/patience.h"
#include "local-sched/launch/pmi_server.h"
#include "local-sched/launch/suspension.h"
#include "local-sched/launch/task.h"

/*
 * A task being carried out: its ranks are started through the agents of its nodes and wired by a
 * PMI server behind the nodes' PMI ports. A rank's end is seen on its port at once (virtbed-rank
 * writes a line), then its status and output are fetched from the agent. A slow poll of the agents
 * finds what the ports cannot tell: a wrapper that died, an agent that hangs.
 *
 * The first thing that goes wrong decides the outcome; the remaining ranks are then killed, and a
 * VM whose ranks do not die is removed. Main loop only.
 */
struct job;

/* What a job tells. All are required. */
struct job_events {
	/* All ranks are started: the task is TASK_RUNNING with its started_ns. */
	void (*started)(struct job *job, void *data);
	/*
	 * The task is TASK_ENDED with its outcome, and its nodes are ready again or known to be
	 * down. `output` is for people. The job is to be freed.
	 */
	void (*ended)(struct job *job, const char *output, size_t length, void *data);
	/*
	 * What came of job_suspend() or job_resume(), but for SUSPENSION_END_LOST, after which the
	 * job ends. The task's state and its last suspension are the owner's to bring up to date.
	 */
	void (*changed)(struct job *job, enum suspension_end how, const char *reason, void *data);
	/*
	 * What came of job_migrate(), but for MIGRATION_END_LOST; the record says where the VMs
	 * are.
	 */
	void (*moved)(struct job *job, enum migration_end how, const char *reason, void *data);
	/* A job_look() is over, whatever came of it. */
	void (*printed)(struct job *job, void *data);
	/*
	 * The task's share is in force, and was read back, or not for all of its VMs because of
	 * `reason`.
	 */
	void (*shared)(struct job *job, const char *reason, void *data);
};

/* What a job needs; borrowed until it is freed. */
struct job_settings {
	struct task *task;            /* its "what became of it" is written */
	struct pool *pool;            /* has the nodes of the cluster */
	struct usage_source *sources; /* sources_count of them, by host */
	uint32_t sources_count;
	uint32_t cores;               /* per node */
	struct patience *patience;    /* learns from tasks that complete; NULL: there is none */
};

/*
 * Starts a task, whose nodes must all be ready. Nothing is told before this returns.
 */
struct job *job_start(const struct job_settings *settings, const struct job_events *events,
		      void *data);

/* Whether the task may be suspended now: all its ranks run as far as is known. */
bool job_may_suspend(const struct job *job);

/*
 * Suspends a task that may be suspended, as its last suspension says; ends with `changed` or
 * `ended`.
 */
void job_suspend(struct job *job);

/* As suspension_match_nodes(), for a task that is suspended. */
bool job_match_nodes(const struct job *job, uint32_t *nodes, GError **error);

/* Resumes a suspended task at the nodes in its last suspension; ends with `changed` or `ended`. */
void job_resume(struct job *job);

/*
 * As pool_match(), for a task that may be suspended; then: moves its VMs as its last migration says,
 * while it runs. Ends with `moved` or `ended`.
 */
bool job_match_targets(const struct job *job, uint32_t *nodes, GError **error);
void job_migrate(struct job *job);

/*
 * Gives its VMs the share of the task; for one that may be suspended. Ends with `shared`, or
 * `ended`.
 */
void job_share(struct job *job);

/*
 * Reads what the first rank has written to its standard output since the last time. Nothing is done
 * while its VM cannot be asked, or was a moment ago; else ends with `printed`.
 */
void job_look(struct job *job);

/*
 * What was read of it so far, *ret_length bytes (borrowed until the job goes on), after *ret_looks
 * looks. The output of the task begins with it in the end.
 */
const char *job_printed(const struct job *job, size_t *ret_length, uint32_t *ret_looks);

/*
 * What came out of a script that has ended, of all its nodes, as task_script_results() reads it
 * (borrowed), or NULL: nothing.
 */
GBytes *job_results(const struct job *job);

/* A node is settled (node.h). */
void job_node_settled(struct job *job);

/* Ends the task with `outcome`, `cause` and `reason` if nothing else ended it already. */
void job_kill(struct job *job, enum task_outcome outcome, enum task_cause cause,
	      const char *reason);

/* Whether what the VM uses now counts as the task's: from its start to its end, while it does not stand still. */
bool job_uses(const struct job *job, const char *domain);

/* The task. */
struct task *job_task(const struct job *job);

/* Frees a job that has ended, or all are being shut down. NULL is allowed. */
void job_free(struct job *job);
