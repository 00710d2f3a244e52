/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/task_cause.h"

/*
 * The backend seam: what carries the engine's actions out and reports events and energy back.
 * `sim` is a discrete-event simulation in virtual time, `remote` talks to local schedulers in real
 * time; the engine cannot tell which one it drives. Times are seconds since the start of the run.
 *
 * A backend belongs to one run and one thread. The engine calls start(), kill(), suspend() and
 * resume() at any time between waits; what came of them arrives as events from wait(), in the order
 * of their times.
 *
 * A task that is suspended keeps its progress and leaves its nodes (Machovec 2017, section II). Its
 * execution time is that of its stretches: from the start until it is frozen, from going on until
 * it is frozen again, and so on until its end.
 */

/* What happened. BACKEND_EVENT_NONE: the deadline of the wait came first. */
enum backend_event_kind {
	BACKEND_EVENT_NONE = 0,
	BACKEND_EVENT_STARTED,      /* all ranks of the task run */
	BACKEND_EVENT_ENDED,        /* the task ended; `outcome` says how */
	BACKEND_EVENT_NODE_DOWN,    /* `cluster`, `node` cannot take tasks from now on */
	BACKEND_EVENT_NODE_UP,      /* ... can again */
	BACKEND_EVENT_ENERGY_LIMIT, /* dynamic energy reached the limit at `time_s` */
	BACKEND_EVENT_ABORTED,      /* the run cannot go on; `reason` says why */
	BACKEND_EVENT_SUSPENDED,    /* the task is off its nodes, which take tasks again */
	BACKEND_EVENT_RESUMED,      /* the task goes on, all ranks, on its new nodes */
	/*
	 * A suspend() or resume() failed and was rolled back: the task still runs, or is still
	 * suspended and on no nodes; `reason` says why. Where it cannot be rolled back the task
	 * ENDED instead, as lost.
	 */
	BACKEND_EVENT_SUSPENSION_FAILED,
	BACKEND_EVENT_BEGAN,        /* a task that was enqueued has its nodes now, and is started */
	BACKEND_EVENT_MIGRATED, /* all VMs of the task are where migrate() was to bring them */
	/*
	 * migrate() failed for one VM at least, or could not be done; the task runs on. `moves` says
	 * where its VMs are now, or is NULL where they are all where they were; `reason` says why.
	 */
	BACKEND_EVENT_MIGRATION_FAILED,
};

/*
 * What the steps of a suspension took, seconds of elapsed time, each after the one before; 0 where
 * there is no such step (nothing is saved of VMs that stay in memory), NAN where it is not known.
 */
struct backend_overhead {
	double freeze_s;  /* from suspend() until all of its VMs are frozen; it executes meanwhile */
	double save_s;    /* from then on until its nodes take tasks again */
	double restore_s; /* from resume() until its VMs are back on nodes */
	double resume_s;  /* from then on until all of its ranks go on */
	double skew_s;    /* between the first and the last VM frozen; part of freeze_s */
};

/* The same of one VM of the task; its skew_s is 0. */
struct backend_vm_overhead {
	uint32_t node; /* that it leaves (SUSPENDED) or goes to (RESUMED) */
	struct backend_overhead overhead;
};

/* What a migration did with one VM of the task. */
struct backend_vm_move {
	uint32_t from; /* its node before */
	uint32_t to;   /* its node now: `from` where it stayed, or could not be moved */
	/* What moving it took, and how much of that it ran nowhere; NAN: not known, or not moved. */
	double total_s;
	double downtime_s;
};

/* How a task ended. */
enum backend_outcome {
	BACKEND_OUTCOME_NONE = 0,
	BACKEND_OUTCOME_COMPLETED, /* ran to its end and verified */
	BACKEND_OUTCOME_FAILED,    /* its own fault: exit status, wrong verification, deadline */
	BACKEND_OUTCOME_KILLED,    /* as asked by kill() */
	BACKEND_OUTCOME_LOST,      /* not its fault: VM, agent, host or local scheduler; try again */
};

/* One event. Fields that do not belong to the kind are 0. */
struct backend_event {
	enum backend_event_kind kind;
	double time_s;     /* when it happened, never before the previous event of its task */
	uint32_t task;     /* index of the task in the workload */
	uint32_t attempt;  /* which start() of the task, from 1 */
	enum backend_outcome outcome;
	enum task_cause cause; /* ENDED: what ended it; NONE where the backend does not know */
	int64_t done, total;   /* ENDED: steps that it had done, of how many; 0 of 0: not known */
	/*
	 * ENDED: execution time, from start() to the end of the last rank, suspended stretches left
	 * out. SUSPENDED: that of the stretch that ended: from start() or going on until frozen.
	 */
	double exec_s;
	double since_s;    /* RESUMED: when it went on, at most time_s */
	/*
	 * SUSPENDED, RESUMED, STAYED: which suspension of the attempt, from 1; MIGRATED, UNMOVED: what
	 * migrate() was called with.
	 */
	uint32_t n;
	struct backend_overhead overhead; /* SUSPENDED: freeze and save; RESUMED: the others */
	const struct backend_vm_overhead *vms; /* as `reason`; NULL: not known by VM */
	uint32_t vms_count;
	const struct backend_vm_move *moves; /* MIGRATED, UNMOVED: one per VM; as `reason` */
	uint32_t moves_count;
	double energy_j;   /* ENDED: dynamic energy attributed to the task; NAN: not known */
	uint32_t cluster;
	uint32_t node;
	const char *reason; /* borrowed until the next wait(); NULL: nothing to say */
};

/* A task to start now. */
struct backend_start {
	uint32_t task;
	uint32_t attempt; /* from 1; a (task, attempt) pair is never carried out twice */
	uint32_t type;
	uint32_t cluster;
	uint32_t pstate;
	/* nodes_count node indices of the cluster, on shared hosts one per VM; borrowed for the call */
	const uint32_t *nodes;
	uint32_t nodes_count;
	double start_before_s; /* of enqueue(): it is not started at that time or later */
};

struct backend;

/* Which moments meters have told of. */
struct backend_watermark {
	double from_s;  /* what they told of before that is not kept */
	double until_s; /* all that are heard of; of others their last watts are taken to go on until they are */
	double all_s;   /* the others, too */
};

/*
 * The table of one implementation; all operations but settle(), share(), enqueue(), migrate() and
 * wake() are required.
 */
struct backend_ops {
	const char *name; /* "sim", "remote" */
	/* Seconds since the start of the run. */
	double (*now_s)(struct backend *backend);
	/* Asks for a task to be started; never fails at once: failures come as ENDED events. */
	void (*start)(struct backend *backend, const struct backend_start *start);
	/* Asks for a running or suspended task to be ended; no effect on one that ended. */
	void (*kill)(struct backend *backend, uint32_t task, uint32_t attempt);
	/*
	 * Asks for a running task to be suspended for the nth time of this attempt, n from 1 and
	 * one more each time that SUSPENDED came of it; asking again for the same n after STAYED is
	 * another try, otherwise it has no effect. SUSPENDED or STAYED comes of it, or ENDED where
	 * the task ends first. No effect on one that ended.
	 */
	void (*suspend)(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n);
	/*
	 * Asks for a suspended task to go on from its nth suspension on the nodes_count free nodes
	 * given, of its cluster and as many as it had (ascending, borrowed for the call). RESUMED or
	 * STAYED comes of it, or ENDED. Repeated, and on tasks that ended: as suspend().
	 */
	void (*resume)(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
		       const uint32_t *nodes, uint32_t nodes_count);
	/*
	 * On hosts that tasks share in time (Stillwell 2010): the yield of a task, in (0, 1], from now on,
	 * or for one that is suspended or being resumed from when it goes on. Its VMs then get that
	 * part of their CPU needs. A task that was just started, or that this is never called for,
	 * has 1. No effect on one that ended. NULL: the backend gives every task nodes of its own.
	 */
	void (*share)(struct backend *backend, uint32_t task, uint32_t attempt, double yield);
	/*
	 * On machines with queues (Gentry 2019): asks for a task to be started as soon as its nodes are
	 * free, after those that were enqueued there before it. One that could not be started in time
	 * (start_before_s) is passed by and stays until it is killed. BEGAN comes of it, then what comes of
	 * start(), or ENDED where it is killed before that. Its execution time counts from BEGAN on.
	 * NULL: the engine keeps the queues, and calls start() when it is a task's turn.
	 */
	void (*enqueue)(struct backend *backend, const struct backend_start *start);
	/*
	 * Asks for the VMs of a running task to be brought to other nodes of its cluster while it runs,
	 * for the nth time of this attempt, n above that of any call before. Free nodes, or its own: as
	 * many as it has (borrowed for the call; on shared hosts one for each VM). MIGRATED or UNMOVED
	 * comes of it, or ENDED where the task ends first. Repeated, and on tasks that ended: as
	 * suspend(). NULL: the backend cannot, and a task has to be suspended and resumed instead.
	 */
	void (*migrate)(struct backend *backend, uint32_t task, uint32_t attempt, uint32_t n,
			const uint32_t *nodes, uint32_t nodes_count);
	/* Dynamic energy (total less idle baseline) consumed since the start of the run, joules. */
	double (*energy_j)(struct backend *backend);
	/*
	 * What energy_j() was at `time_s` by what is known now: meters tell of a moment when it is over. And
	 * what they have told of. Both NULL: energy_j() is right at once.
	 */
	double (*energy_at_j)(struct backend *backend, double time_s);
	struct backend_watermark (*watermark)(struct backend *backend);
	/* ENERGY_LIMIT is reported once when energy_j() reaches `limit_j`; 0: never. */
	void (*set_limit)(struct backend *backend, double limit_j);
	/*
	 * Waits for the next event, at most until `until_s` (inclusive for events at that very
	 * time: they come before NONE). Sets *ret_event; that of NONE has until_s for its time, or an
	 * earlier one after wake().
	 */
	void (*wait)(struct backend *backend, double until_s, struct backend_event *ret_event);
	/*
	 * The wait() that is under way, or the next one, is to return soon, with NONE if there is nothing
	 * else. NULL: nothing is called while the backend waits.
	 */
	void (*wake)(struct backend *backend);
	/*
	 * While it is held, nothing that is asked for need be sent on: more is to come at once, and those who would
	 * carry it out want the same processors. NULL: it is all the same.
	 */
	void (*cork)(struct backend *backend, bool held);
	/*
	 * At the end of a run, after kill() of what still runs: waits, for some seconds at most,
	 * until it is known how each attempt ended. wait() then gives the ENDED events of those
	 * that were over before the kill came. NULL: events are never late.
	 */
	void (*settle)(struct backend *backend);
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

static inline void backend_start(struct backend *backend, const struct backend_start *start)
{
	backend->ops->start(backend, start);
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

/* Only where the backend has it. */
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

static inline void backend_wait(struct backend *backend, double until_s,
				struct backend_event *ret_event)
{
	backend->ops->wait(backend, until_s, ret_event);
}

static inline void backend_wake(struct backend *backend)
{
	if (backend->ops->wake)
		backend->ops->wake(backend);
}

static inline void backend_cork(struct backend *backend, bool held)
{
	if (backend->ops->cork)
		backend->ops->cork(backend, held);
}

/* Returns whether there may be events that were late. */
static inline bool backend_settle(struct backend *backend)
{
	if (!backend->ops->settle)
		return false;
	backend->ops->settle(backend);
	return true;
}

/* Only where the backend has it. */
static inline void backend_share(struct backend *backend, uint32_t task, uint32_t attempt,
				 double yield)
{
	backend->ops->share(backend, task, attempt, yield);
}

/* Whether machines keep their queues themselves. */
static inline bool backend_keeps_queues(const struct backend *backend)
{
	return backend->ops->enqueue;
}

/* Only where machines keep their queues themselves. */
static inline void backend_enqueue(struct backend *backend, const struct backend_start *start)
{
	backend->ops->enqueue(backend, start);
}

/* NULL is allowed. */
static inline void backend_destroy(struct backend *backend)
{
	if (backend)
		backend->ops->destroy(backend);
}
