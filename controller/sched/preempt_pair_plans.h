/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/preempt_pair.h"
#include "controller/sched/preempt_queue.h"

/*
 * The results of the first phase of Algorithm 3 for each class, and the order of the classes. Used
 * by preempt_pair.c only.
 *
 * All classes of the event are in one queue: classes with a plan by its value, the others by their
 * bounds. A plan that is not on top is watched, so that a placement finds the plans that it may
 * change without looking at all: each occupant has a list of the plans whose best pair is with it.
 * A plan that may have changed is replaced by the bound of its class, and recomputed when it comes
 * to the top.
 */
enum pair_kind {
	PAIR_NONE = 0, /* no idle nodes, and there is no pair or it is barred */
	PAIR_IDLE,
	PAIR_FIRST,
	PAIR_SECOND,
};

struct pair_plan {
	enum pair_kind kind;
	uint32_t way;
	double value;  /* value of t */
	bool fresh;    /* no placement since may have changed it */
	bool searched; /* `found` and `pair` below were computed in this event: */
	bool found;    /* there is a pair, chosen or not */
	/*
	 * The pair is not allowed: the task earns no more than the victims (not with +algorithm-3).
	 */
	bool barred;
	struct pair pair;
	bool watched;
	/* Neighbours in the list of plans with the same anchor; IMMEDIATE_NONE: none. */
	uint32_t before;
	uint32_t behind;
};

struct pair_plans {
	struct immediate *immediate;
	struct preempt_queue queue;
	uint32_t capacity;
	struct pair_plan *plans; /* per class */
	/* Per occupant of the snapshot: the class of the first plan in its list. */
	uint32_t *anchors;
};

/* Initialises an empty queue. Returns 0, or -ENOMEM. */
int pair_plans_begin(struct pair_plans *plans, struct immediate *immediate);

/* Adds a class without a plan. Returns 0, or -ENOMEM. */
int pair_plans_add(struct pair_plans *plans, uint32_t class);

/* Removes a class. */
void pair_plans_remove(struct pair_plans *plans, uint32_t class);

/* Moves a class to the position of its plan or, if that is not fresh, of its bound. */
void pair_plans_settle(struct pair_plans *plans, uint32_t class);

/* Watches a fresh plan. */
void pair_plans_watch(struct pair_plans *plans, uint32_t class);

/*
 * To be called after a placement in `cluster` that preempted `anchor` (IMMEDIATE_NONE: no task).
 * All fresh plans must be watched, unless `all`: then no plan is fresh any more.
 */
void pair_plans_update(struct pair_plans *plans, uint32_t cluster, uint32_t anchor, bool all);
