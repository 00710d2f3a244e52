/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/immediate_private.h"
#include "controller/sched/preempt.h"

/*
 * The best pair of a task and what runs: the first phase of Algorithm 3 (Machovec 2017, III.E.4). Used
 * by preempt_pair.c only, whose head says what a pair is.
 *
 * On a serial system tasks that run in a cluster and are worth the same whenever they end form a
 * group, and a search looks at few of the groups:
 * - Where t goes second, at the frontier: what no group on a lower node precedes in both, being worth
 *   as much and ending as early. It depends on what runs alone, and is found anew after a placement.
 *   If values, ends and nodes have nothing to do with one another, of g groups log(g)^2 / 2 are on it.
 * - Where t goes first, r loses what t takes: RET of t are divided into ranges (two for every
 *   doubling), and for each of them the groups are kept in the order of what they are worth if they
 *   wait for the shortest, which bounds their part of the pair.
 * Both end where the bound of the pair says that nothing better can come. What is placed in the event
 * makes no pairs, so groups only shrink. The first search is for +algorithm-3 alone. Without it only pairs count
 * in which t first is worth no less.
 * Elsewhere the net values depend on all that is in the cluster, and every search weighs all pairs.
 *
 * Cost on a serial system with c clusters of r preemptible tasks in g groups, f of them on the
 * frontier: r g / 2 per cluster to form the groups, only as many as are worth exactly the same being
 * compared; g^2 / 4 moves for each range of a cluster that is met (at most 40, some 8 in the paper's
 * environment); g (f + ranges) per placement; a search weighs one to some pairs for each way of the
 * class, g at worst.
 */

/* Ranges of RET. */
#define PAIR_RANGES 40

/* A pair. */
struct pair {
	double net;       /* of the better ordering */
	double second;    /* value of t if it goes second */
	uint32_t cluster;
	uint32_t node;    /* lowest usable one of the anchor */
	uint32_t anchor;  /* occupant */
	uint32_t group;   /* that it is of; unused in a plain search */
	uint16_t way;
	bool first;       /* t goes first */
};

/*
 * What each of a group is worth at most behind a task of a range. A group are preemptible occupants of
 * a cluster that are interchangeable but for their nodes.
 */
struct pair_behind {
	double bound;
	uint32_t node;  /* the lowest one of the group */
	uint32_t group;
};

/* The groups of a cluster by that, highest first, then by node. */
struct pair_list {
	uint32_t count;
	struct pair_behind *behind; /* NULL: not asked for yet */
};

/* What runs in a cluster of a serial system. */
struct pair_cluster {
	struct pair_list order;  /* by what they are worth if they do not wait */
	uint32_t frontier_count; /* 0: not known */
	uint32_t *frontier;      /* groups, most valuable first */
	struct pair_list ranges[PAIR_RANGES];
};

/* What all searches share. */
struct pair_searches {
	struct immediate *immediate;
	bool plain;                /* weigh everything at every search */
	bool algorithm_3;          /* +algorithm-3; without it t goes first, or there is no pair */
	struct pair_cluster *clusters;
	uint32_t groups_count;
	uint32_t *lowest;          /* per group: its occupant on the lowest node; IMMEDIATE_NONE: none */
	uint32_t *next;            /* per occupant of the snapshot: the one on the next node in its group */
	uint32_t *victims;         /* room for a list of them */
};

/* Prepares searches. After immediate_value(). Returns 0, or -ENOMEM. */
int pair_searches_begin(struct pair_searches *all, struct immediate *immediate);

/* Takes note of a placement for which `anchor` went. */
void pair_searches_update(struct pair_searches *all, uint32_t anchor);

/* The groups of a cluster, in the order of the range that `ret_s` is in; NULL: out of memory. */
const struct pair_list *pair_range(struct pair_searches *all, uint32_t index, double ret_s);

/* Brings the frontier of a cluster up to date. */
void pair_frontier(struct pair_searches *all, uint32_t index);

/* Whether all of a group have gone. */
static inline bool pair_is_empty(const struct pair_searches *all, uint32_t group)
{
	return all->lowest[group] == IMMEDIATE_NONE;
}

/* The one of a group on the lowest node; there must be one. */
static inline const struct immediate_occupant *pair_occupant(const struct pair_searches *all,
							     uint32_t group)
{
	return &all->immediate->occupants[all->lowest[group]];
}

/* What an occupant is worth that waits for `ret_s`. */
static inline double pair_worth_behind(const struct immediate *immediate,
				       const struct immediate_occupant *o, double ret_s)
{
	return objective_at(immediate->objective, o->task,
			immediate->snapshot->now_s + ret_s + o->rest.etc_s, o->rest.etc_s);
}

/*
 * Finds the pair with the highest net value of a class, whose ways are known; ties: cluster order,
 * lower node, lower P-state. Sets *ret_found to whether there is any. Returns 0, or -ENOMEM.
 */
int pair_find(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *ret_pair);

/*
 * The same on a serial system for a class whose best pair was *pair until its anchor went: takes less
 * where there are others like that. Returns 0, or -ENOMEM.
 */
int pair_mend(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *pair);

/*
 * What the victims of a pair are worth together, by `worth`, if they are left alone. The pair must be
 * the one that pair_find() or pair_mend() found last, and nothing placed since.
 */
double pair_alone(struct pair_searches *all, uint32_t class, const struct pair *pair,
		  enum objective objective);
