/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/random.h"

/*
 * The schedule of a profile on one cluster: which measurements are left, in which order, and which
 * nodes are busy. Bookkeeping only: the caller starts tasks and reports their ends.
 *
 * Order: in rounds. Each round measures every type that arrives once, in random order: the speed of
 * a machine changes from minute to minute, and no estimate shall depend on a single minute. A type
 * with arrival fraction 0 is measured in two rounds that lie apart, after the other types of the
 * round: no run has such a task, so the time is better spent on the others. A round begins when all
 * measurements of the previous round have started, so a wide task waits for room before narrow
 * tasks of later rounds take it.
 */
struct run_profile_schedule {
	const struct config *config; /* borrowed */
	const struct config_cluster *cluster;
	uint32_t index; /* index of the cluster */
	/* struct run_wanted elements that are still to be started, by ascending round */
	GArray *wanted;
	bool *busy; /* per node */
	bool *down;
	bool *evicted; /* per node: its last task pushed pages of its VM out to swap */
	/* nodes x types: the node has completed a task of the type's benchmark since it booted */
	bool *warm;
	uint32_t left;     /* number of measurements that have not completed */
	uint32_t *missing; /* per type: number of measurements that have not completed */
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
	bool filler; /* keeps nodes busy; counts if it completes before the profile ends */
	bool cold;   /* pays for a start that no task of a run pays for: does not count */
	bool over;   /* the task has ended */
};

/*
 * Starts with idle nodes that have executed no task. `repeats`, at least 1, is the number of
 * rounds; `config` must outlive the schedule. The order follows from the workload's seed.
 */
void run_profile_schedule_init(struct run_profile_schedule *bench, const struct config *config,
			       uint32_t cluster, uint32_t repeats);

/* Frees the members; the struct itself is the caller's. */
void run_profile_schedule_clear(struct run_profile_schedule *bench);

/*
 * Starts the next measurement: of the earliest round that has any left, the first that has room.
 * Its nodes are busy from then on. NULL: none has room, or none is left to start. The caller frees
 * it with run_job_free().
 */
struct run_job *run_profile_schedule_start(struct run_profile_schedule *bench);

/*
 * Starts a task as a run would: of the types that have room, drawn by their arrival fractions.
 * NULL: none has room, or measurements still wait to be started.
 */
struct run_job *run_profile_schedule_fill(struct run_profile_schedule *bench);

/*
 * Ends a job: its nodes become idle. Returns whether its execution time counts as a measurement: it
 * completed and was not cold. A measurement that does not count is put back into its round.
 */
bool run_profile_schedule_end(struct run_profile_schedule *bench, const struct run_job *job,
			      bool completed);

/* Marks the measurement of this type in this round as made: it is in the store. */
void run_profile_schedule_recall(struct run_profile_schedule *bench, uint32_t type, uint32_t round);

/*
 * Gives the type up: it is not started any more, and jobs of it under way will not count. Returns
 * how many of its measurements are left out; 0: it had all of them.
 */
uint32_t run_profile_schedule_give_up(struct run_profile_schedule *bench, uint32_t type);

/*
 * Whether nothing runs, and no measurement that is left can start, since too many nodes are down.
 */
bool run_profile_schedule_is_stuck(const struct run_profile_schedule *bench);

/* Whether a measurement of the type is left that needs more nodes than are up. */
bool run_profile_schedule_lacks_nodes(const struct run_profile_schedule *bench, uint32_t type);

/* A node that is down gets no job; when it is up again it counts as newly booted. */
void run_profile_schedule_node_down(struct run_profile_schedule *bench, uint32_t node);
void run_profile_schedule_node_up(struct run_profile_schedule *bench, uint32_t node);

/* NULL is allowed. */
void run_job_free(struct run_job *job);
