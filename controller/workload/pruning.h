/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/pet.h"
#include "controller/workload/workload.h"

/*
 * The workload of Gentry 2019, section VI: tasks of twelve types with hard deadlines on eight
 * machines (clusters) that are inconsistently heterogeneous. Choices that the paper leaves open:
 *
 * - The execution times of its benchmarks on its machines are not printed. Here the mean of a type
 *   is uniform in 50 to 200 time units, its means on the machines are gamma variates around it with
 *   a coefficient of variation of PRUNING_MACHINE_COV, scaled so that their mean is the type's.
 *   Then as in the paper: the shape is a whole number in 1 to 20, 500 samples, a histogram with
 *   bins of one unit. The matrix depends only on its seed: it is the same for all trials.
 * - A type's first task arrives uniformly within one mean gap. Arrivals and deadlines are whole
 *   units.
 * - The paper's levels of "19k" and "34k" tasks are arrival intensities: that many tasks would
 *   arrive in a long span of which a trial is the first part.
 */

#define PRUNING_TYPES 12
#define PRUNING_MACHINES 8
#define PRUNING_SAMPLES 500
#define PRUNING_MACHINE_COV 0.4
/* Most bins of a drawn execution time; with more, completion times take too long to compute. */
#define PRUNING_BINS_MAX 100000

/* What a trial is drawn from. */
struct pruning_load {
	uint32_t tasks; /* > 0 */
	double span_s;  /* time in which they arrive on average, > 0 */
	/* Variance of gaps, as a fraction of their mean in seconds; > 0 (VI.B: 0.1). */
	double variance;
	double slack; /* beta of the deadlines: mean execution times of all types, >= 0 */
};

/*
 * The matrix of a seed, in bins of `bin_s` time units (> 0). The caller frees it. NULL: an
 * execution time would have more than PRUNING_BINS_MAX bins.
 */
struct pet *pruning_pet_new(uint64_t seed, double bin_s);

/* The names of its types. */
extern const char *const pruning_types[PRUNING_TYPES];

/*
 * Fills in a system of the machines and types of the settings' matrix (settings and the names of
 * the types are borrowed): its mean execution times, and one node for a task. The caller finishes
 * it (sched_system_finish()) and frees it before the settings.
 */
void pruning_fill_system(struct sched_system *system, const struct sched_queueing *settings,
			 const char *const *types);

/* A task whose utility is 1 until its deadline, up to rounding, and 0 after it. */
struct sched_task pruning_task(uint32_t type, double arrival_s, double deadline_s, double bin_s);

/*
 * The tasks of a trial (from 1). Their utility is 1 until their deadlines, arrival + type mean +
 * slack x mean of all types, and 0 after. The caller frees the workload.
 */
struct workload *pruning_workload_new(const struct pet *pet, const struct pruning_load *load,
				      double bin_s, uint64_t seed, uint32_t trial);
