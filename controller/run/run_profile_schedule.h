/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/random.h"

/*
 * What `profile` has still to measure on one cluster, in which order, and what its nodes are doing
 * meanwhile. Bookkeeping only: tasks are started, and their ends heard of, by the caller.
 *
 * Order: in rounds. In each one the types that arrive are measured once, in random order: the
 * speed of a machine changes from minute to minute, and no estimate shall be that of one minute. A
 * type of share 0 is measured in two rounds that lie apart, after the others of its round: no run
 * has such a task, and the time goes to those it has. A round begins when all of the one before it
 * have started, so a wide task waits for room before narrow ones of later rounds take it.
 */
struct run_profile_schedule {
	const struct config *config; /* borrowed */
	const struct config_cluster *cluster;
	uint32_t index; /* of the cluster */
	GArray *wanted; /* struct run_wanted still to be started; their rounds ascend */
	bool *busy;	/* per node */
	bool *down;
	bool *evicted; /* its last task had its VM's pages pushed out */
	bool *warm;    /* nodes x types: has completed a task of its benchmark since it booted */
	uint32_t left; /* measurements that have not completed */
	uint32_t *missing; /* the same per type */
	bool *given_up;    /* per type: it is not started any more */
	struct random_stream random;
};

/* A measurement to be made. */
struct run_wanted {
	uint32_t type, round;
};

/* One task under way or done. */
struct run_job {
	uint32_t type, cluster, nodes_count;
	uint32_t *nodes;
	uint32_t round;
	bool filler; /* keeps nodes busy; counts if it completes in time */
	bool cold;   /* pays for what no other task of a run does: does not count */
	bool over;   /* it has ended */
};

/*
 * Begins with idle nodes that have run nothing. `repeats`, at least 1, are the rounds; `config`
 * must outlive it. The order follows from the workload's seed.
 */
void run_profile_schedule_init(struct run_profile_schedule *bench, const struct config *config, uint32_t cluster,
		    uint32_t repeats);

/* Frees what the bench holds; the bench itself is the caller's. */
void run_profile_schedule_clear(struct run_profile_schedule *bench);

/*
 * Starts the next measurement of the earliest round that has any: the first that has room. Its
 * nodes are busy from then on. NULL: none has room, or nothing is left to start. Freed with
 * run_job_free().
 */
struct run_job *run_profile_schedule_start(struct run_profile_schedule *bench);

/*
 * Starts what a run would have there: one of the types that have room, drawn by their shares of the
 * arrivals. NULL: none has room, or measurements are still waiting to be started.
 */
struct run_job *run_profile_schedule_fill(struct run_profile_schedule *bench);

/*
 * The end of a job: its nodes are idle. Returns whether its execution time counts as a measurement:
 * it completed and was not cold. One that should have been a measurement and does not count is
 * wanted again, in its round.
 */
bool run_profile_schedule_end(struct run_profile_schedule *bench, const struct run_job *job, bool completed);

/* The measurement of this type in this round was made before: it is on record. */
void run_profile_schedule_recall(struct run_profile_schedule *bench, uint32_t type, uint32_t round);

/*
 * The type cannot be measured here: nothing of it is started any more, and what is under way does not count when it
 * ends. Returns how many of its measurements that leaves out; 0: it had all of them.
 */
uint32_t run_profile_schedule_give_up(struct run_profile_schedule *bench, uint32_t type);

/* Whether nothing runs, and nothing that is left can start, since too many nodes are down. */
bool run_profile_schedule_is_stuck(const struct run_profile_schedule *bench);

/* Whether measurements of the type are left that need more nodes than are up. */
bool run_profile_schedule_lacks_nodes(const struct run_profile_schedule *bench, uint32_t type);

/* A node that is down gets no job, and has run nothing when it is up again. */
void run_profile_schedule_node_down(struct run_profile_schedule *bench, uint32_t node);
void run_profile_schedule_node_up(struct run_profile_schedule *bench, uint32_t node);

/* NULL is allowed. */
void run_job_free(struct run_job *job);
