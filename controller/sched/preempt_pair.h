/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/immediate_private.h"
#include "controller/sched/preempt.h"

/*
 * The best pair of a task and what runs: the first phase of Algorithm 3 (paper 000, III.E.4). Used
 * by preempt_pair.c only, whose head says what a pair is.
 *
 * On a serial system the search for one class goes on where it stood: victims of a cluster are
 * looked at in decreasing order of their value v(r), and v(t) + v(r), each as if it did not wait,
 * bounds the net value of the pair, so that mostly a few of them are enough; what was looked at
 * stays in a heap, and what is placed in the event joins it with its bound. Victims that are worth
 * the same whenever they end form a group and are looked at once. Elsewhere the net values depend on all that is in the cluster,
 * and every search weighs all pairs.
 */

/* A pair, or the bound of one that was not weighed yet. */
struct pair {
	double net;       /* of the better ordering */
	double second;    /* value of t if it goes second */
	uint32_t cluster;
	uint32_t node;    /* lowest usable one of the anchor */
	uint32_t anchor;  /* occupant: the one of its group on the lowest node */
	uint32_t group;   /* unused in a plain search */
	uint16_t way;
	bool weighed;
	bool first;       /* t goes first */
};

/* Where the search for a class stands. */
struct pair_search {
	bool begun;
	double margin;      /* worth_margin() */
	uint32_t news;      /* that were taken in */
	uint32_t *at;       /* per way: next in the cluster's order */
	uint32_t count;
	uint32_t capacity;
	struct pair *pairs; /* a heap */
};

/* Preemptible occupants of a cluster that are interchangeable but for their nodes. */
struct pair_group {
	double bound;       /* of the value of each at any time */
	uint32_t cluster;
	uint32_t class;     /* that they were placed from; IMMEDIATE_NONE: they ran before */
	uint32_t count;
	uint32_t capacity;
	uint32_t *members;  /* occupants, the lowest node last; some may be gone */
};

/* The groups of a cluster when the event began, most valuable first. */
struct pair_order {
	uint32_t first; /* group */
	uint32_t count;
};

/* What all searches share. */
struct pair_searches {
	struct immediate *immediate;
	bool plain; /* weigh everything at every search */
	struct pair_order *orders; /* per cluster */
	uint32_t groups_count;     /* those of the orders, then those placed in this event */
	uint32_t groups_capacity;
	struct pair_group *groups;
	uint32_t news_count;       /* groups whose lowest node a placement made lower */
	uint32_t news_capacity;
	uint32_t *news;
	uint32_t searches_count;   /* per class */
	uint32_t searches_capacity;
	struct pair_search *searches;
	uint32_t *victims;         /* room for a list of them */
};

/* Orders the victims. After immediate_value(). Returns 0, or -ENOMEM. */
int pair_searches_begin(struct pair_searches *all, struct immediate *immediate);

/* Takes note of what a placement added: the last occupant, and new classes. Returns 0, or -ENOMEM. */
int pair_searches_update(struct pair_searches *all);

/*
 * Finds the pair with the highest net value of a class, whose ways are known; ties: cluster order,
 * lower node, lower P-state. Sets *ret_found to whether there is any. Returns 0, or -ENOMEM.
 */
int pair_find(struct pair_searches *all, uint32_t class, bool *ret_found, struct pair *ret_pair);

/* The value of the victims of a pair left alone. */
double pair_alone(struct pair_searches *all, uint32_t class, const struct pair *pair);
