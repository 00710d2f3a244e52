/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/immediate_private.h"
#include "controller/sched/preempt.h"

/*
 * The best pair of a mappable task t and a running task r: the first phase of Algorithm 3 (Machovec
 * 2017, III.E.4). Used by preempt_pair.c only, whose opening comment defines pairs.
 *
 * On a serial system tasks that run in a cluster and have the same value whenever they end form a
 * group, and a search considers few of the groups:
 * - Pairs where t goes second are searched on the frontier: the groups that no group on a lower
 *   node precedes in both value (at least as high) and end (at least as early). It depends on
 *   running tasks only, and is recomputed after a placement. If values, ends and nodes are
 *   independent, log(g)^2 / 2 of g groups are on it.
 * - Where t goes first, r loses what t takes: the RET of t are divided into ranges (two for every
 *   doubling), and for each of them the groups are ordered by their values if they wait for the
 *   shortest RET, which bounds their part of the pair. Both end where the bound of the pair says
 *   that nothing better can follow. Tasks placed in the event make no pairs, so groups only shrink.
 *   The first search is for +algorithm-3 only. Without it only pairs count in which t first has no
 *   lower value. On other systems the net values depend on everything in the cluster, and every
 *   search computes all pairs.
 *
 * Cost on a serial system with c clusters of r preemptible tasks in g groups, f of them on the
 * frontier: r g / 2 per cluster to form the groups, as only tasks with exactly the same value are
 * compared; g^2 / 4 moves for each range of a cluster that occurs (at most 40, about 8 in the
 * paper's environment); g (f + ranges) per placement; a search computes one to a few pairs for each
 * way of the class, g at worst.
 */

/* Ranges of RET. */
#define PAIR_RANGES 40

/* A pair. */
struct pair {
	double net;    /* net value of the better ordering */
	double second; /* value of t if it goes second */
	uint32_t cluster;
	uint32_t node;   /* lowest usable node of the anchor */
	uint32_t anchor; /* occupant */
	uint32_t group;  /* the anchor's group; unused in a plain search */
	uint16_t way;
	bool first; /* t goes first */
};

/*
 * The bound of the value that each task of a group has behind a task of a range. A group consists
 * of preemptible occupants of a cluster that are interchangeable but for their nodes.
 */
struct pair_behind {
	double bound;
	uint32_t node; /* the group's lowest node */
	uint32_t group;
};

/* The groups of a cluster by that bound, highest first, then by node. */
struct pair_list {
	uint32_t count;
	struct pair_behind *behind; /* NULL: not computed yet */
};

/* The running tasks in a cluster of a serial system. */
struct pair_cluster {
	struct pair_list order;  /* by their values if they do not wait */
	uint32_t frontier_count; /* 0: not known */
	uint32_t *frontier;      /* groups, most valuable first */
	struct pair_list ranges[PAIR_RANGES];
};

/* Data of all searches of an event. */
struct pair_searches {
	struct immediate *immediate;
	bool plain;       /* compute all pairs at every search */
	bool algorithm_3; /* +algorithm-3; without it there are only pairs with t first */
	struct pair_cluster *clusters;
	uint32_t groups_count;
	/* Per group: its occupant on the lowest node; IMMEDIATE_NONE: empty. */
	uint32_t *lowest;
	/* Per occupant of the snapshot: the occupant on the next node in its group. */
	uint32_t *next;
	uint32_t *victims; /* buffer for a list of victims */
};

/* Prepares the searches of an event, after immediate_value(). Returns 0, or -ENOMEM. */
int pair_searches_begin(struct pair_searches *all, struct immediate *immediate);

/* To be called after a placement that preempted `anchor`. */
void pair_searches_update(struct pair_searches *all, uint32_t anchor);

/* The groups of a cluster, in the order of the range that `ret_s` is in; NULL: out of memory. */
const struct pair_list *pair_range(struct pair_searches *all, uint32_t index, double ret_s);

/* Recomputes the frontier of a cluster if need be. */
void pair_frontier(struct pair_searches *all, uint32_t index);

/* Whether a group has no occupants left. */
static inline bool pair_is_empty(const struct pair_searches *all, uint32_t group)
{
	return all->lowest[group] == IMMEDIATE_NONE;
}

/* The occupant of a group on the lowest node; the group must not be empty. */
static inline const struct immediate_occupant *pair_occupant(const struct pair_searches *all,
							     uint32_t group)
{
	return &all->immediate->occupants[all->lowest[group]];
}

/* The value of an occupant that waits for `ret_s`. */
static inline double pair_worth_behind(const struct immediate *immediate,
				       const struct immediate_occupant *o, double ret_s)
{
	return objective_at(immediate->objective, o->task,
			    immediate->snapshot->now_s + ret_s + o->rest.etc_s, o->rest.etc_s);
}

/*
 * Finds the pair with the highest net value of a class, whose ways are known; ties: cluster order,
 * lower node, lower P-state. Sets *ret_found to whether there is a pair. Returns 0, or -ENOMEM.
 */
int pair_find(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *ret_pair);

/*
 * As pair_find(), on a serial system, for a class whose best pair was *pair until its anchor was
 * preempted: costs less if the group has further occupants.
 */
int pair_mend(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *pair);

/*
 * The sum of the values, by `objective`, of the victims of a pair if they are left alone. The pair
 * must be the last result of pair_find() or pair_mend(), with no placement since.
 */
double pair_alone(struct pair_searches *all, uint32_t class, const struct pair *pair,
		  enum objective objective);
