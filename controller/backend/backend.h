/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire_task.h"
#include "controller/sched/model.h"

/*
 * The seam between the engine and what carries its actions out. `sim` is a discrete-event
 * simulation in virtual time, `remote` talks to local schedulers in real time; the engine cannot
 * tell which one it drives. Times are seconds since the start of the run.
 *
 * Time and events are not in the table: the caller that runs the engine hands the events to it. It
 * takes those of `sim` by backend_sim_wait() (sim.h), those of `remote` by remote_backend_take()
 * (remote.h).
 *
 * A backend belongs to one run and one thread. The engine calls start(), kill(), suspend() and
 * resume() at any time between events; their results arrive as events, in the order of their times.
 *
 * A suspended task keeps its progress and leaves its nodes (Machovec 2017, section II). Its
 * execution time is the sum of its intervals: the first begins at the start, each later one at a
 * resumption; an interval ends when the task is frozen, the last one when the task ends.
 */

/* The kind of an event. BACKEND_EVENT_NONE: there was none until the time asked for. */
enum backend_event_kind {
	BACKEND_EVENT_NONE = 0,
	BACKEND_EVENT_STARTED,      /* all ranks of the task run */
	BACKEND_EVENT_ENDED,        /* the task ended; `outcome` says how */
	BACKEND_EVENT_NODE_DOWN,    /* `cluster`, `node` cannot take tasks from now on */
	BACKEND_EVENT_NODE_UP,      /* `cluster`, `node` can take tasks again */
	BACKEND_EVENT_ENERGY_LIMIT, /* dynamic energy reached the limit at `time_s` */
	BACKEND_EVENT_ABORTED,      /* the run cannot continue; `reason` says why */
	BACKEND_EVENT_SUSPENDED,    /* the task is off its nodes, which take tasks again */
	BACKEND_EVENT_RESUMED,      /* all ranks of the task run again, on its new nodes */
	/*
	 * A suspend() or resume() failed and was rolled back: the task still runs, or is still
	 * suspended and on no nodes; `reason` says why. Where it cannot be rolled back the task
	 * ENDED instead, as lost.
	 */
	BACKEND_EVENT_SUSPENSION_FAILED,
	BACKEND_EVENT_BEGAN,    /* an enqueued task has its nodes now and is being started */
	BACKEND_EVENT_MIGRATED, /* all VMs of the task are on the nodes that migrate() named */
	/*
	 * migrate() failed for at least one VM, or was refused; the task keeps running. `moves`
	 * says where its VMs are now; NULL: all are where they were. `reason` says why.
	 */
	BACKEND_EVENT_MIGRATION_FAILED,
};

/*
 * Elapsed seconds of the steps of a suspension, each step after the one before it. 0: there is no
 * such step (nothing is saved of VMs that stay in memory); NAN: not known.
 */
struct backend_overhead {
	/* from suspend() until all of its VMs are frozen; the task executes meanwhile */
	double freeze_s;
	double save_s;    /* from the end of freeze_s until its nodes take tasks again */
	double restore_s; /* from resume() until its VMs are back on nodes */
	double resume_s;  /* from the end of restore_s until all of its ranks execute */
	double skew_s;    /* between the first and the last VM frozen; part of freeze_s */
};

/* The overhead of one VM of the task; its skew_s is 0. */
struct backend_vm_overhead {
	uint32_t node; /* the node that it leaves (SUSPENDED) or goes to (RESUMED) */
	struct backend_overhead overhead;
};

/* Where a migration took one VM of the task. */
struct backend_vm_move {
	uint32_t from; /* its node before */
	uint32_t to;   /* its node now: `from` if it stayed or could not be moved */
	/*
	 * How long the move took, and for how long of that the VM executed nowhere; NAN: not known,
	 * or not moved.
	 */
	double total_s;
	double downtime_s;
};

/* How a task ended. */
enum backend_outcome {
	BACKEND_OUTCOME_NONE = 0,
	BACKEND_OUTCOME_COMPLETED, /* ran to its end and verified */
	BACKEND_OUTCOME_FAILED,    /* its own fault: exit status, wrong verification, deadline */
	BACKEND_OUTCOME_KILLED,    /* by kill() */
	BACKEND_OUTCOME_LOST, /* not its fault: VM, agent, host or local scheduler; try again */
};

/* One event. Fields that do not belong to the kind are 0. */
struct backend_event {
	enum backend_event_kind kind;
	double time_s;    /* when it happened, never before the previous event of its task */
	uint32_t task;    /* index of the task in the workload */
	uint32_t attempt; /* which start() of the task, from 1 */
	enum backend_outcome outcome;
	enum task_cause cause; /* ENDED: what ended it; NONE where the backend does not know */
	int64_t done, total;   /* ENDED: benchmark steps done, and of how many; 0 of 0: not known */
	/*
	 * ENDED: execution time from start() to the end of the last rank, without suspensions.
	 * SUSPENDED: length of the interval that ended, from start() or the last resumption until
	 * frozen.
	 */
	double exec_s;
	double since_s; /* RESUMED: when the task executed again, at most time_s */
	/*
	 * SUSPENDED, RESUMED, SUSPENSION_FAILED: the number of the suspension in the attempt, from
	 * 1; MIGRATED, MIGRATION_FAILED: the `n` of migrate().
	 */
	uint32_t n;
	struct backend_overhead overhead;      /* SUSPENDED: freeze and save; RESUMED: the others */
	const struct backend_vm_overhead *vms; /* lifetime as `reason`; NULL: not known by VM */
	uint32_t vms_count;
	/* MIGRATED, MIGRATION_FAILED: one per VM; lifetime as `reason` */
	const struct backend_vm_move *moves;
	uint32_t moves_count;
	double energy_j; /* ENDED: dynamic energy attributed to the task; NAN: not known */
	uint32_t cluster;
	uint32_t node;
	const char *reason; /* borrowed until the next event is taken; NULL: no reason is known */
};

struct backend;

/* Which part of the run's time the meters' samples cover. */
struct backend_watermark {
	double from_s; /* samples older than this have been discarded */
	/* all meters that still report; of silent ones the last watts are assumed to continue */
	double until_s;
	double all_s; /* all meters, silent ones too */
};

/*
 * The table of one implementation. Required are all operations but share(), enqueue(), migrate(),
 * energy_at_j() and watermark().
 */
struct backend_ops {
	const char *name; /* "sim", "remote" */
	/* Seconds since the start of the run. */
	double (*now_s)(struct backend *backend);
	/*
	 * Requests the start of a task on its nodes, on shared hosts one per VM. Of its allocation,
	 * which is borrowed for the call, the id and the row of the task, the cluster, the P-state
	 * and the nodes are read. `attempt` is from 1; a pair of task and attempt is never carried
	 * out twice. Never fails at once: a failure arrives as an ENDED event.
	 */
	void (*start)(struct backend *backend, const struct sched_allocation *placed,
		      uint32_t attempt);
	/* Requests the end of a running or suspended task; no effect on a task that has ended. */
	void (*kill)(struct backend *backend, uint32_t task, uint32_t attempt);
	/*
	 * Requests the nth suspension of a running task in this attempt: n is 1 at first and grows
	 * by 1 after each SUSPENDED. A repeated call with the same n is another try after
	 * SUSPENSION_FAILED and has no effect otherwise. The result is SUSPENDED or
	 * SUSPENSION_FAILED, or ENDED if the task ends first. No effect on a task that has ended.
	 */
	void (*suspend)(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n);
	/*
	 * Requests that a suspended task resumes from its nth suspension on the nodes_count free
	 * nodes given: nodes of its cluster, as many as it had, ascending, borrowed for the call.
	 * The result is RESUMED or SUSPENSION_FAILED, or ENDED. Repeated calls and ended tasks: as
	 * suspend().
	 */
	void (*resume)(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		       const uint32_t *nodes, uint32_t nodes_count);
	/*
	 * On hosts that tasks share in time (Stillwell 2010): sets the yield of a task, in (0, 1],
	 * from now on; of a suspended or resuming task, from its resumption on. Its VMs get that
	 * part of their CPU needs. The yield is 1 until the first call. No effect on a task that
	 * has ended. NULL: the backend gives every task nodes of its own.
	 */
	void (*share)(struct backend *backend, uint32_t task, uint32_t attempt, double yield);
	/*
	 * On queueing clusters (Gentry 2019): requests that a task is started as soon as its nodes
	 * are free, after the tasks that were enqueued there before it. A task is not started at or
	 * after start_before_s: it is skipped then and stays until kill(). The result is BEGAN,
	 * then the events of start(), or ENDED if kill() comes before BEGAN. Execution time counts
	 * from BEGAN. NULL: the engine keeps the queues and calls start() when a task's turn comes.
	 */
	void (*enqueue)(struct backend *backend, const struct sched_allocation *placed,
			uint32_t attempt, double start_before_s);
	/*
	 * Requests that the VMs of a running task are moved to other nodes of its cluster while it
	 * executes: the nth migration of this attempt, n above that of any earlier call. `nodes`
	 * are free nodes or its own, as many as it has, on shared hosts one per VM; borrowed for
	 * the call. The result is MIGRATED or MIGRATION_FAILED, or ENDED if the task ends first.
	 * Repeated calls and ended tasks: as suspend(). NULL: the backend cannot migrate; the
	 * engine suspends and resumes instead.
	 */
	void (*migrate)(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			const uint32_t *nodes, uint32_t nodes_count);
	/* Dynamic energy (total less idle baseline) consumed since the start of the run, joules. */
	double (*energy_j)(struct backend *backend);
	/*
	 * energy_at_j(): the value of energy_j() at `time_s`, by the samples received so far, since
	 * meters report with a delay. watermark(): what these samples cover. Both NULL: energy_j()
	 * is exact at once.
	 */
	double (*energy_at_j)(struct backend *backend, double time_s);
	struct backend_watermark (*watermark)(struct backend *backend);
	/* ENERGY_LIMIT is reported once when energy_j() reaches `limit_j`; 0: never. */
	void (*set_limit)(struct backend *backend, double limit_j);
	/* Ends what still runs and frees the backend. */
	void (*destroy)(struct backend *backend);
};

/* First member of every implementation. */
struct backend {
	const struct backend_ops *ops;
};

static inline double backend_now_s(struct backend *backend)
{
	return backend->ops->now_s(backend);
}

static inline void backend_start(struct backend *backend, const struct sched_allocation *placed,
				 uint32_t attempt)
{
	backend->ops->start(backend, placed, attempt);
}

static inline void backend_kill(struct backend *backend, uint32_t task, uint32_t attempt)
{
	backend->ops->kill(backend, task, attempt);
}

static inline void backend_suspend(struct backend *backend, uint32_t task, uint32_t attempt,
				   uint32_t n)
{
	backend->ops->suspend(backend, task, attempt, n);
}

static inline void backend_resume(struct backend *backend, uint32_t task, uint32_t attempt,
				  uint32_t n, const uint32_t *nodes, uint32_t nodes_count)
{
	backend->ops->resume(backend, task, attempt, n, nodes, nodes_count);
}

/* Whether tasks can be migrated while they run. */
static inline bool backend_migrates(const struct backend *backend)
{
	return backend->ops->migrate;
}

/* Only if backend_migrates(). */
static inline void backend_migrate(struct backend *backend, uint32_t task, uint32_t attempt,
				   uint32_t n, const uint32_t *nodes, uint32_t nodes_count)
{
	backend->ops->migrate(backend, task, attempt, n, nodes, nodes_count);
}

static inline double backend_energy_j(struct backend *backend)
{
	return backend->ops->energy_j(backend);
}

static inline void backend_set_limit(struct backend *backend, double limit_j)
{
	backend->ops->set_limit(backend, limit_j);
}

/* Only if the backend has share(). */
static inline void backend_share(struct backend *backend, uint32_t task, uint32_t attempt,
				 double yield)
{
	backend->ops->share(backend, task, attempt, yield);
}

/* Whether clusters keep their queues themselves. */
static inline bool backend_keeps_queues(const struct backend *backend)
{
	return backend->ops->enqueue;
}

/* Only if backend_keeps_queues(). */
static inline void backend_enqueue(struct backend *backend, const struct sched_allocation *placed,
				   uint32_t attempt, double start_before_s)
{
	backend->ops->enqueue(backend, placed, attempt, start_before_s);
}

/* NULL is allowed. */
static inline void backend_destroy(struct backend *backend)
{
	if (backend)
		backend->ops->destroy(backend);
}
