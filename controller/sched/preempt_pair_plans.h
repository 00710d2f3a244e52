/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/preempt_pair.h"
#include "controller/sched/preempt_queue.h"

/*
 * What the first phase of Algorithm 3 chose for each class, and who is next. Used by preempt_pair.c
 * only.
 *
 * All classes of the event are in one queue: those with a plan by what it is worth, the others by
 * their bounds. A plan that is not on top is watched, so that a placement finds those that it may
 * change without a look at the others: each occupant has a list of the plans whose best pair is with
 * it. A plan that may have changed gets its bound again, and is made anew when it comes to the top.
 */
enum pair_kind {
	PAIR_NONE = 0, /* nothing is idle, and there is no pair or it is barred */
	PAIR_IDLE,
	PAIR_FIRST,
	PAIR_SECOND,
};

struct pair_plan {
	enum pair_kind kind;
	uint32_t way;
	double value;    /* of t */
	bool fresh;      /* nothing has happened since that may change it */
	bool searched;   /* `found` and `pair` were the best at some time of the event: */
	bool found;      /* there is a pair, whether it was chosen or not */
	bool barred;     /* it is not made: the task earns no more than the victims (not with +algorithm-3) */
	struct pair pair;
	bool watched;
	uint32_t before; /* others whose pair is with the same anchor; IMMEDIATE_NONE: none */
	uint32_t behind;
};

struct pair_plans {
	struct immediate *immediate;
	struct preempt_queue queue;
	uint32_t capacity;
	struct pair_plan *plans; /* per class */
	uint32_t *anchors; /* per occupant of the snapshot: the first plan of its list, a class */
};

/* An empty queue. Returns 0, or -ENOMEM. */
int pair_plans_begin(struct pair_plans *plans, struct immediate *immediate);

/* Enters a class without a plan. Returns 0, or -ENOMEM. */
int pair_plans_add(struct pair_plans *plans, uint32_t class);

/* Takes a class out. */
void pair_plans_remove(struct pair_plans *plans, uint32_t class);

/* Gives a class the place that its plan, or its bound if that is not fresh, deserves. */
void pair_plans_settle(struct pair_plans *plans, uint32_t class);

/* Watches a fresh plan. */
void pair_plans_watch(struct pair_plans *plans, uint32_t class);

/*
 * Takes note of a placement in `cluster`, for which `anchor` went (IMMEDIATE_NONE: none did). All
 * fresh plans must be watched, unless `all`: then none is fresh any more.
 */
void pair_plans_update(struct pair_plans *plans, uint32_t cluster, uint32_t anchor, bool all);
