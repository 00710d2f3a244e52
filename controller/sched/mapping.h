/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/availability.h"
#include "controller/sched/energy.h"
#include "controller/sched/model.h"
#include "controller/sched/policy.h"
#include "controller/sched/arena.h"

/*
 * A mapping event in progress: the tools for policies. It holds the schedule of every cluster,
 * which changes as tasks are placed, the tasks still to be mapped and the plan so far. All memory
 * comes from the arena of the call.
 */
struct mapping {
	const struct policy *policy;
	const struct sched_snapshot *snapshot;
	const struct sched_system *system;
	struct arena *arena;
	unsigned int flags;            /* enum policy_flags */
	struct availability *clusters; /* in configured order */
	struct energy energy;          /* the remaining energy, and which options it allows */
	uint32_t tasks_count;
	/*
	 * Mappable, in the order of the snapshot, without dropped ones. mapping_place() takes none out:
	 * a loop over them meets each once.
	 */
	const struct sched_task **tasks;
	double *bounds; /* per task: the most it can earn, starting now where it is fastest */
	const char *note;

	/* The fields below are private to mapping.c. */
	struct mapping_widest *widest; /* per cluster */
	uint32_t *slots;               /* per row of the system: its row in `starts` */
	struct mapping_start *starts;  /* mappable rows x columns: earliest starts known */
	uint32_t actions_count;
	struct sched_action *actions;
	uint32_t considered_count;
	uint32_t considered_capacity;
	struct sched_considered *considered;
	uint32_t considered_open; /* first entry whose action is not known yet */
};

/* The earliest start of a row in a column, as of a version of the cluster's schedule. */
struct mapping_start {
	double start_s; /* INFINITY: never */
	uint32_t step;
	uint32_t version; /* of the schedule, + 1; 0: not known yet */
};

/* Most nodes that are free at once before the next event, as of a version of the schedule. */
struct mapping_widest {
	uint32_t nodes;
	uint32_t version; /* + 1; 0: not known yet */
};

/*
 * Begins the mapping event of `snapshot`: builds the schedules and drops tasks that earn too little
 * (3.3). With +reserve-now the nodes of reservations are taken from now on. Returns 0, or -ENOMEM.
 */
int mapping_begin(struct mapping *mapping, const struct policy *policy,
		  const struct sched_snapshot *snapshot, struct policy_context *context);

/*
 * The earliest start of an option of `row` (3.7); INFINITY: none. Valid until the next placement in
 * that cluster.
 */
double mapping_start_s(struct mapping *mapping, uint32_t row, const struct sched_option *option);

/*
 * The most nodes of a cluster that are free at one instant before the next mapping event: a wider
 * option cannot start until then.
 */
uint32_t mapping_widest_soon(struct mapping *mapping, uint32_t cluster);

/*
 * Places `task` by `option` at its earliest start, which must be finite: a START if that is now,
 * else the kind of the policy's future. Adds the action and takes the nodes until its end, from its
 * start on or, with +reserve-now, from now on. Returns 0, or -ENOMEM.
 */
int mapping_place(struct mapping *mapping, const struct sched_task *task,
		  const struct sched_option *option, double objective, enum sched_reason reason);

/* Whether the options that were considered are to be noted. */
static inline bool mapping_explains(const struct mapping *mapping)
{
	return mapping->flags & POLICY_EXPLAIN;
}

/*
 * Notes an option of `task` that was considered; it belongs to the next action that mapping_place()
 * adds for the task, if there is one. No effect unless mapping_explains(). Returns 0, or -ENOMEM.
 */
int mapping_consider(struct mapping *mapping, const struct sched_task *task,
		     const struct sched_option *option, double objective,
		     enum sched_refusal refusal);

/* Ends the event and returns the plan in *ret_plan. */
void mapping_end(struct mapping *mapping, struct sched_plan *ret_plan);
