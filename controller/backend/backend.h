/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The backend seam: what carries the engine's actions out and reports events and energy back.
 * `sim` is a discrete-event simulation in virtual time, `remote` talks to local schedulers in real
 * time; the engine cannot tell which one it drives. Times are seconds since the start of the run.
 *
 * A backend belongs to one run and one thread. The engine calls start() and kill() at any time
 * between waits; what came of them arrives as events from wait(), in the order of their times.
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
	double exec_s;     /* ENDED: execution time, from start() to the end of the last rank */
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
	const uint32_t *nodes; /* nodes_count node indices of the cluster; borrowed for the call */
	uint32_t nodes_count;
};

struct backend;

/* The table of one implementation; all operations but settle() are required. */
struct backend_ops {
	const char *name; /* "sim", "remote" */
	/* Seconds since the start of the run. */
	double (*now_s)(struct backend *backend);
	/* Asks for a task to be started; never fails at once: failures come as ENDED events. */
	void (*start)(struct backend *backend, const struct backend_start *start);
	/* Asks for a running task to be ended; no effect on one that ended. */
	void (*kill)(struct backend *backend, uint32_t task, uint32_t attempt);
	/* Dynamic energy (total less idle baseline) consumed since the start of the run, joules. */
	double (*energy_j)(struct backend *backend);
	/* ENERGY_LIMIT is reported once when energy_j() reaches `limit_j`; 0: never. */
	void (*set_limit)(struct backend *backend, double limit_j);
	/*
	 * Waits for the next event, at most until `until_s` (inclusive for events at that very
	 * time: they come before NONE). Sets *ret_event.
	 */
	void (*wait)(struct backend *backend, double until_s, struct backend_event *ret_event);
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

/* Returns whether there may be events that were late. */
static inline bool backend_settle(struct backend *backend)
{
	if (!backend->ops->settle)
		return false;
	backend->ops->settle(backend);
	return true;
}

/* NULL is allowed. */
static inline void backend_destroy(struct backend *backend)
{
	if (backend)
		backend->ops->destroy(backend);
}
