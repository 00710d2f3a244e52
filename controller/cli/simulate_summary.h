/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdio.h>

#include "controller/experiment/trials.h"
#include "controller/report/stats.h"
#include "controller/study/study_metrics.h"

/*
 * The summary that `virtbed simulate` prints: a cell per policy and limit. Means are over the
 * trials, each of which is a workload. Ratios are taken per workload and then averaged, with 95 %
 * intervals (Student's t), so that what all policies share in a workload cancels out.
 */

/*
 * The quantities of a run. The first group is averaged over all trials. On shared hosts it has the
 * largest and the mean bounded stretch (NAN: a run left jobs unfinished), and pauses and migrations
 * per task. The second group has an interval over the trials in which the quantity is known.
 */
enum simulate_quantity {
	SIMULATE_UTILITY,
	SIMULATE_ENERGY_J,
	SIMULATE_ENDED_S,
	SIMULATE_ARRIVED, /* tasks */
	SIMULATE_COMPLETED,
	SIMULATE_DROPPED,
	SIMULATE_FAILED,
	SIMULATE_STRETCH_MAX,
	SIMULATE_STRETCH_MEAN,
	SIMULATE_PAUSES,
	SIMULATE_MIGRATIONS,
	SIMULATE_PERCENT,       /* of the highest possible utility; environments only */
	SIMULATE_UTILITY_RATIO, /* to the baseline policy under the same limit */
	SIMULATE_ENERGY_RATIO,
	SIMULATE_ROBUSTNESS, /* of tasks with deadlines (study_metrics.h), as the next two */
	SIMULATE_VARIANCE,
	SIMULATE_COST,
	SIMULATE_QUANTITIES
};

/* One policy under one limit. */
struct simulate_cell {
	uint32_t policy; /* index in the experiment */
	uint32_t limit;  /* index of the limit */
	double mean[SIMULATE_PERCENT], sd[SIMULATE_PERCENT];
	struct stats_interval interval[SIMULATE_QUANTITIES]; /* from SIMULATE_PERCENT on */
	uint32_t ended[ENGINE_END_ABORTED + 1];              /* runs by what ended them */
};

/* The cells of all policies and limits. */
struct simulate_summary {
	const struct trials *trials;
	const double *limits; /* fractions, trials->limits_count of them */
	uint64_t seed;
	double budget_j;
	int baseline;                /* index of the policy that ratios refer to; -1: none */
	struct simulate_cell *cells; /* limits x policies (row = limit) */
	uint32_t cells_count;
};
typedef struct simulate_summary simulate_summary_t;

/*
 * The index of the policy that ratios refer to: the one of that name, with its modifiers, or where
 * `name` is NULL the first that is policy_reference(), whatever its modifiers. -1: there is none.
 */
int simulate_summary_baseline(const struct experiment *experiment, const char *name);

/*
 * Summarizes `results` of `trials`. `limits` are borrowed. `baseline` is of
 * simulate_summary_baseline(). Returns a new summary.
 */
struct simulate_summary *simulate_summary_new(const struct trials *trials, const double *limits,
					      double budget_j, int baseline,
					      const struct engine_result *results);

/* NULL is allowed. */
void simulate_summary_free(struct simulate_summary *summary);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(simulate_summary_t, simulate_summary_free)

/* The cells as a JSON array of objects. New reference. */
json_t *simulate_summary_json(const struct simulate_summary *summary);

/* The same as a table. `heading` says where its runs come from; NULL: they are simulated trials. */
void simulate_summary_print(const struct simulate_summary *summary, const char *heading,
			    FILE *file);
