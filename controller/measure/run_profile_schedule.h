/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/random.h"

/*
 * The schedule of a profile on one cluster: which measurements are left, in which order, and which
 * tasks the nodes have. Bookkeeping only: the caller numbers tasks, starts them, and reports their
 * ends.
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
	/* Per node. */
	uint32_t *tasks;         /* the task that has it; RUN_NO_TASK: it is idle */
	struct run_wanted *made; /* what the task measures */
	bool *cold; /* the task pays for a start there that no task of a run pays for */
	bool *down;
	bool *evicted; /* its last task pushed pages of its VM out to swap */
	/* nodes x types: the node has completed a task of the type's benchmark since it booted */
	bool *warm;
	uint32_t left;     /* number of measurements that have not completed */
	uint32_t *missing; /* per type: number of measurements that have not completed */
	bool *given_up;    /* per type: it is not started any more */
	struct random_stream random;
};

/* A measurement that is to be made, or is under way. */
struct run_wanted {
	uint32_t type;
	uint32_t round; /* RUN_NO_ROUND: a task that keeps nodes busy, and counts if it completes */
};

#define RUN_NO_ROUND UINT32_MAX
#define RUN_NO_TASK UINT32_MAX

/*
 * Starts with idle nodes that have executed no task. `repeats`, at least 1, is the number of
 * rounds; `config` must outlive the schedule. The order follows from the workload's seed.
 */
void run_profile_schedule_init(struct run_profile_schedule *bench, const struct config *config,
			       uint32_t cluster, uint32_t repeats);

/* Frees the members; the struct itself is the caller's. */
void run_profile_schedule_clear(struct run_profile_schedule *bench);

/*
 * Starts the next measurement as the task with the number `task`: of the earliest round that has
 * any left, the first that has room. Its nodes are *ret_nodes, which has room for those of the
 * cluster. Returns how many they are; 0: none has room, or none is left to start.
 */
uint32_t run_profile_schedule_start(struct run_profile_schedule *bench, uint32_t task,
				    uint32_t *ret_nodes);

/*
 * Starts a task as a run would: of the types that have room, drawn by their arrival fractions.
 * Returns 0 if none has room, or measurements still wait to be started.
 */
uint32_t run_profile_schedule_fill(struct run_profile_schedule *bench, uint32_t task,
				   uint32_t *ret_nodes);

/* What a task that is under way measures. */
struct run_wanted run_profile_schedule_made(const struct run_profile_schedule *bench,
					    uint32_t task);

/*
 * Ends a task: its nodes become idle. Returns whether its execution time counts as a measurement:
 * it completed and was not cold. A measurement that does not count is put back into its round.
 */
bool run_profile_schedule_end(struct run_profile_schedule *bench, uint32_t task, bool completed);

/* Marks the measurement of this type in this round as made: it is in the store. */
void run_profile_schedule_recall(struct run_profile_schedule *bench, uint32_t type, uint32_t round);

/*
 * Gives the type up: it is not started any more, and tasks of it under way will not count. Returns
 * how many of its measurements are left out; 0: it had all of them.
 */
uint32_t run_profile_schedule_give_up(struct run_profile_schedule *bench, uint32_t type);

/*
 * Whether nothing runs, and no measurement that is left can start, since too many nodes are down.
 */
bool run_profile_schedule_is_stuck(const struct run_profile_schedule *bench);

/* Whether a measurement of the type is left that needs more nodes than are up. */
bool run_profile_schedule_lacks_nodes(const struct run_profile_schedule *bench, uint32_t type);

/* A node that is down gets no task; when it is up again it counts as newly booted. */
void run_profile_schedule_node_down(struct run_profile_schedule *bench, uint32_t node);
void run_profile_schedule_node_up(struct run_profile_schedule *bench, uint32_t node);
