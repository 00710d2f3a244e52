/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/arena.h"

/*
 * When which nodes of a cluster are free: a step function from time to the set of free nodes, from
 * now on for ever. It answers the question of Machovec 2018, section 3.7: the earliest start at
 * which enough nodes are free for a whole execution, and which of them to take.
 *
 * Node sets are bit masks of 64-bit words. Within one mapping event tasks only take nodes away:
 * starts of a given width and duration only move later, which lazy policies rely on.
 *
 * From the step `rising` on nodes only become free, so that whether a task fits is a comparison of
 * two numbers there. If everything was taken from now on, that is the whole schedule. Only before
 * that step are masks intersected: a query costs at most rising x (steps that the task covers
 * before it) x nodes / 64, plus a look at the count of every step. Choosing nodes costs about
 * (steps before + steps after that take some of them) x nodes / 64.
 */
struct availability {
	struct arena *arena;
	double now_s;
	uint32_t nodes;    /* of the cluster */
	uint32_t words;    /* 64-bit words of a mask */
	uint32_t steps;    /* > 0 */
	uint32_t capacity; /* steps that fit */
	uint32_t version;  /* counts the changes */
	uint32_t rising;   /* from this step on the set of free nodes only grows */
	double *time_s;    /* per step: when it begins; time_s[0] == now_s; ascending */
	uint64_t *free;    /* steps x words: nodes free from time_s[i] until time_s[i + 1] */
	uint32_t *count;   /* per step: number of free nodes */
	uint64_t *common;  /* 4 x words; for queries */
};

/* The words of a mask of so many nodes. */
static inline uint32_t availability_words(uint32_t nodes)
{
	return nodes / 64 + (nodes % 64 != 0);
}

/*
 * Starts a schedule of `nodes` nodes, all of them free from `now_s` on. Memory comes from `arena`
 * and lasts until that is reset. Returns 0, or -ENOMEM.
 */
int availability_init(struct availability *availability, struct arena *arena, uint32_t nodes,
		      double now_s);

/* Nodes of a cluster that are taken from now on until a given time. */
struct availability_hold {
	double end_s; /* > now_s */
	const uint32_t *nodes;
	uint32_t count;
};

/*
 * Takes the nodes of `holds` (`count` of them, sorted by end_s, latest first; no node twice) on a
 * schedule on which nothing is taken yet. Equal to that many calls of availability_take(), at a
 * cost of count x nodes / 64. Returns 0, or -ENOMEM.
 */
int availability_hold(struct availability *availability, const struct availability_hold *holds,
		      uint32_t count);

/*
 * Marks `nodes` (`count` indices) busy during [start_s, end_s). The part before now_s is cut off;
 * nodes that are busy already stay so. end_s may be INFINITY (a node that is down). Returns 0, or
 * -ENOMEM.
 */
int availability_take(struct availability *availability, const uint32_t *nodes, uint32_t count,
		      double start_s, double end_s);

/*
 * The first step at whose beginning `width` nodes (> 0) are free for `duration_s` (> 0), or
 * UINT32_MAX if there is none. Its time is the earliest start: within a step no node becomes free.
 */
uint32_t availability_earliest(const struct availability *availability, uint32_t width,
			       double duration_s);

/* The most nodes that are free at one instant before `until_s` (> now_s). */
uint32_t availability_widest(const struct availability *availability, double until_s);

/*
 * Chooses `width` nodes for [start of `step`, that + duration_s), where availability_earliest()
 * found that as many are free. Order: fewest idle voids created, then smallest void, then lowest
 * index. A void is a gap longer than 0 between two tasks of a node, or between now and its first
 * task; an open end is no void and has no size. So for a node with nothing after the task only the
 * gap before it counts, and the size of the void that the task goes into is that gap; otherwise it
 * is the whole gap. Fills ret_nodes (`width` entries, ascending). Returns 0, or -ENOMEM.
 */
int availability_choose(const struct availability *availability, uint32_t step, uint32_t width,
			double duration_s, uint32_t *ret_nodes);

/*
 * Builds the schedule of every cluster of a snapshot, in configured order: running tasks,
 * reservations and nodes that are down are taken; place-holders are not, since they are dropped at
 * the event. Returns an array of system->clusters_count schedules from `arena`, or NULL if memory
 * is short.
 */
struct availability *availability_of_snapshot(const struct sched_snapshot *snapshot,
					      struct arena *arena);
