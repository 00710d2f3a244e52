/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"
#include "controller/sched/scratch.h"

/*
 * When which nodes of a cluster are free: a step function from time to the set of free nodes, from
 * now on for ever. It answers the question of paper 002, section 3.7: the earliest start at which
 * enough nodes are free for a whole execution, and which of them to take.
 *
 * Node sets are bit masks of 64-bit words, so a query costs about steps x nodes / 64. Within one
 * mapping event tasks only ever take room away: starts of a given width and duration only move
 * later, which lazy policies rely on.
 */
struct availability {
	struct scratch *scratch;
	double now_s;
	uint32_t nodes;    /* of the cluster */
	uint32_t words;    /* 64-bit words of a mask */
	uint32_t steps;    /* > 0 */
	uint32_t capacity; /* steps that fit */
	uint32_t version;  /* counts the changes */
	double *time_s;    /* per step: when it begins; time_s[0] == now_s; ascending */
	uint64_t *free;    /* steps x words: nodes free from time_s[i] until time_s[i + 1] */
	uint32_t *count;   /* per step: number of free nodes */
	uint64_t *common;  /* words; for queries */
};

/*
 * Starts a schedule of `nodes` nodes, all of them free from `now_s` on. Memory comes from `scratch`
 * and lasts until that is reset. Returns 0, or -ENOMEM.
 */
int availability_init(struct availability *availability, struct scratch *scratch, uint32_t nodes,
		      double now_s);

/*
 * Marks `nodes` (`count` indices) busy during [start_s, end_s). What lies before now_s is cut off,
 * what is busy already stays so. end_s may be INFINITY (a node that is down). Returns 0, or
 * -ENOMEM.
 */
int availability_take(struct availability *availability, const uint32_t *nodes, uint32_t count,
		      double start_s, double end_s);

/*
 * The first step at whose beginning `width` nodes (> 0) are free for `duration_s` (> 0), or
 * UINT32_MAX when there is none. Its time is the earliest start: within a step no node becomes
 * free.
 */
uint32_t availability_earliest(const struct availability *availability, uint32_t width,
			       double duration_s);

/*
 * Chooses `width` nodes for [start of `step`, that + duration_s), where availability_earliest()
 * found that as many are free: fewest idle voids created, then smallest void, then lowest index. A
 * void is a gap longer than 0 between two tasks of a node, or between now and its first task; an
 * open end is none and has no size. So a node with nothing after the task counts only the gap
 * before it, and the size of the void that the task goes into is that gap; otherwise it is the
 * whole gap. Fills ret_nodes (`width` entries, ascending). Returns 0, or -ENOMEM.
 */
int availability_choose(const struct availability *availability, uint32_t step, uint32_t width,
			double duration_s, uint32_t *ret_nodes);

/*
 * Builds the schedule of every cluster of a snapshot, in configured order: running tasks,
 * reservations and nodes that are down are taken; place-holders are not, since they vanish at the
 * event. Returns an array of system->clusters_count schedules from `scratch`, or NULL when memory
 * is short.
 */
struct availability *availability_of_snapshot(const struct sched_snapshot *snapshot,
					      struct scratch *scratch);
