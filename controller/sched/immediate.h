/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/energy.h"
#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/sched/arena.h"
#include "controller/sched/objective.h"

/*
 * A mapping event in which tasks start now or not at all (Machovec 2017, section III): the tools
 * for policies without planned starts. It has the tasks on every node, the mappable tasks, and the
 * plan so far.
 *
 * - Mappable are the waiting tasks, each in all ways of its row; the suspended tasks, each on any
 *   nodes of its own cluster with the rest of its execution time (RET); and the tasks that are
 *   preempted in the event. Tasks that can earn nothing in any way are dropped (III.B); a way that
 *   earns nothing is not taken.
 * - Tasks with the same row, arrival, utility function, progress and right to preempt are
 *   interchangeable. They form a class and are considered once: a burst of a hundred tasks costs as
 *   much as one task. The earliest of a class goes first.
 * - A node is idle if it is up, has no task, and no reservation (of a policy before this one) needs
 *   it.
 * - The plan holds the decisions that stand at the end of the event ("this mapping is used to
 *   preempt and assign tasks", III.A). A task that is placed and preempted in one event was never
 *   started; a task that is preempted and returns to its very nodes stays there.
 *
 * Cost of an event with n mappable tasks in k classes, r running tasks and m nodes: n + r + m / 64
 * to begin (one comparison of neighbours per task, one utility per class); m / 64 per placement.
 */

/* No class, occupant or action. */
#define IMMEDIATE_NONE UINT32_MAX

/* One way to run the tasks of a class from now on. */
struct immediate_way {
	/* The rest of the option: etc_s is the RET, the energy the part of it. */
	struct sched_option rest;
	double value; /* value of the objective if started now; 0: earns nothing */
};

/* Where a mappable task comes from. */
enum immediate_origin {
	IMMEDIATE_WAITING = 0,
	IMMEDIATE_SUSPENDED, /* suspended before the event */
	IMMEDIATE_RAN,       /* running when the event began, preempted in it */
};

/* Mappable tasks that are interchangeable. */
struct immediate_class {
	enum immediate_origin origin;
	bool may_preempt;
	uint32_t count;
	uint32_t next;                   /* tasks before it are placed or have left the event */
	const struct sched_task **tasks; /* in order of id */
	double executed_s;               /* execution time of each so far */
	double utility;                  /* the most utility that one task can earn */
	double bound;                    /* upper bound of the objective over all ways */
	uint32_t cluster;                /* where it must resume; unused for waiting tasks */
	uint32_t pstate;
	uint32_t nodes;
	uint32_t ways_count;        /* 0 until immediate_ways() was called */
	struct immediate_way *ways; /* in column order */
	/* IMMEDIATE_RAN: index of the occupant that it was; `suspend` is its SUSPEND. */
	uint32_t former;
	uint32_t suspend;
};

/* A task on nodes, at the present point of the event. */
struct immediate_occupant {
	const struct sched_task *task;
	bool present;     /* false once it was preempted */
	bool preemptible; /* may be preempted */
	struct sched_option rest;
	double executed_s;
	double value; /* value of the objective if it finishes where it is */
	uint32_t nodes_count;
	uint32_t usable;       /* nodes that others can take: not down, not reserved */
	const uint32_t *nodes; /* ascending */
	/* Class that it came from; IMMEDIATE_NONE: it ran when the event began. */
	uint32_t class;
	uint32_t action; /* action that put it there; IMMEDIATE_NONE: it stayed */
};

/* A preemptible occupant; victims are ordered as they are preempted. */
struct immediate_victim {
	double key;     /* rank_key() of its value */
	uint32_t node;  /* its lowest usable node */
	uint32_t nodes; /* number of its usable nodes */
	uint32_t occupant;
};

/* The nodes of a cluster and its victims. */
struct immediate_cluster {
	uint32_t words; /* 64-bit words of a mask */
	uint32_t idle;  /* nodes */
	uint64_t *idle_mask;
	uint64_t *blocked; /* nodes that are down or reserved */
	bool any_blocked;
	uint32_t version; /* counts the changes */
	uint32_t victims_count;
	struct immediate_victim *victims; /* by key, then node, ascending */
};

/* The event. */
struct immediate {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	const struct sched_system *system;
	struct arena *arena;
	unsigned int flags; /* enum policy_flags */
	enum objective objective;
	bool preempts;
	bool settles; /* tasks placed in the event are not preempted in it */
	bool serial;  /* every task, running or mappable, takes one node, and none is down */
	struct energy energy;
	struct immediate_cluster *clusters;
	uint32_t idle; /* nodes of all clusters */
	uint32_t classes_count;
	uint32_t classes_capacity;
	struct immediate_class *classes;
	uint32_t *waiting_class;   /* per waiting task; IMMEDIATE_NONE: dropped */
	uint32_t *suspended_class; /* per suspended task, as waiting_class */
	uint32_t occupants_count;
	uint32_t occupants_capacity;
	struct immediate_occupant *occupants; /* those of the snapshot first, in its order */

	/* The fields below are private to immediate.c. */
	uint32_t actions_count;
	uint32_t actions_capacity;
	struct sched_action *actions; /* SCHED_ACTION_NONE: undone */
	uint32_t considered_count;
	uint32_t considered_capacity;
	struct sched_considered *considered;
	uint32_t considered_open; /* first entry whose action is not known yet */
};

/*
 * Begins the mapping event of `snapshot`: finds the tasks on every node, forms the classes and
 * drops tasks that can earn nothing. Returns 0, or -ENOMEM.
 */
int immediate_begin(struct immediate *immediate, const struct policy *policy,
		    const struct sched_snapshot *snapshot, struct policy_context *context);

/*
 * Sets the objective by which tasks are valued, and whether they preempt. Computes the bounds of
 * the classes and, if tasks preempt, the values of the occupants, and orders the victims. To be
 * called once, before the functions below. Returns 0, or -ENOMEM.
 */
int immediate_value(struct immediate *immediate, enum objective objective, bool preempts);

/* The ways of a class, found at the first call; `ways_count` is then set. NULL: out of memory. */
const struct immediate_way *immediate_ways(struct immediate *immediate, uint32_t class);

/* The next task of a class; it must have one. */
static inline const struct sched_task *immediate_head(const struct immediate *immediate,
						      uint32_t class)
{
	return immediate->classes[class].tasks[immediate->classes[class].next];
}

/*
 * The value that a task must exceed to take `nodes` nodes of a cluster: 0 if that many are idle,
 * else the sum of the values of the victims, taken in increasing order until with the idle nodes
 * there are enough; INFINITY if there never are. *ret_victims is their number.
 */
double immediate_beat(const struct immediate *immediate, uint32_t cluster, uint32_t nodes,
		      uint32_t *ret_victims);

/* A decision to put a task on nodes. */
struct immediate_choice {
	uint32_t class;
	uint32_t way;
	uint32_t anchor; /* an occupant whose nodes come first; IMMEDIATE_NONE: the idle ones do */
	double objective;
	enum sched_reason reason;
};

/*
 * The victims of `choice`, in order: the anchor, then by increasing value until there are enough
 * nodes. Returns their number, at most the cluster's victims, and the occupants in `ret_victims`;
 * or IMMEDIATE_NONE if there are never enough nodes.
 */
uint32_t immediate_victims(const struct immediate *immediate, const struct immediate_choice *choice,
			   uint32_t *ret_victims);

/*
 * Places the next task of a class, which must be possible. It gets the nodes of the anchor, the
 * idle ones, and those of the other victims in order, the lowest of each first, as many as it
 * needs; the others become idle. The victims become mappable, each as a class at the end of the
 * list. The arrays of classes and occupants may move. Returns 0, or -ENOMEM.
 */
int immediate_place(struct immediate *immediate, const struct immediate_choice *choice);

/* As immediate_place(), on `nodes`, which must be idle; ascending, from the arena. */
int immediate_place_at(struct immediate *immediate, const struct immediate_choice *choice,
		       const uint32_t *nodes);

/* Whether the options that were considered are to be noted. */
static inline bool immediate_explains(const struct immediate *immediate)
{
	return immediate->flags & POLICY_EXPLAIN;
}

/*
 * Notes a way of a task that was considered; it belongs to the next placement of the task, if there
 * is one. No effect unless immediate_explains(). Returns 0, or -ENOMEM.
 */
int immediate_consider(struct immediate *immediate, const struct sched_task *task,
		       const struct immediate_way *way, double objective,
		       enum sched_refusal refusal);

/* Ends the event and returns the plan in *ret_plan. Returns 0, or -ENOMEM. */
int immediate_end(struct immediate *immediate, struct sched_plan *ret_plan);
