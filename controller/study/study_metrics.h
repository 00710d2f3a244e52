/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <math.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * The metrics of a run of a study, for its tables and figures, and their values over trials.
 *
 * Those of shared hosts are the figures of Stillwell 2010, section V, Tables I and II; a run in
 * which a job did not end has none. Those of tasks with deadlines are the figures of Gentry 2019,
 * section VII (controller/experiment/robustness.h defines the terms).
 */
enum study_metric {
	STUDY_UTILITY,
	STUDY_UTILITY_PERCENT, /* of the highest possible utility, where that is known */
	STUDY_ENERGY_J,
	STUDY_COMPLETED,         /* tasks */
	STUDY_DROPPED,           /* tasks */
	STUDY_COMPLETED_PERCENT, /* of the tasks that arrived */
	/* On shared hosts. */
	/* the largest bounded stretch over the least such value of all configured policies */
	STUDY_DEGRADATION,
	STUDY_STRETCH_MAX, /* the largest and the mean bounded stretch of a job */
	STUDY_STRETCH_MEAN,
	STUDY_PAUSES_PER_JOB,
	STUDY_MIGRATIONS_PER_JOB,
	STUDY_PAUSES_PER_HOUR, /* from the first arrival to the last end */
	STUDY_MIGRATIONS_PER_HOUR,
	/* the memory of suspended VMs, written and read back, and of migrated ones, in that time */
	STUDY_PAUSE_GIB_S,
	STUDY_MIGRATION_GIB_S,
	/* Of tasks with deadlines. */
	STUDY_ROBUSTNESS, /* tasks on time, in percent of the tasks that count */
	/* variance over the types of their percentages of tasks on time (Fig. 6) */
	STUDY_VARIANCE,
	STUDY_COST,   /* cost of the tasks that count, per percent on time (VII.F) */
	STUDY_BUSY_S, /* busy seconds of the clusters */
	STUDY_METRICS,
};

/* Of a metric that a run does not have. A NAN is a value, whose mean is unknown. */
#define STUDY_NONE ((double)-INFINITY)

/* Whether the jobs of a study share hosts. */
bool study_shares(const struct config *config);

/* Whether the tasks of a study have deadlines and queues. */
bool study_prunes(const struct config *config);

/*
 * The metrics of a run, or STUDY_NONE. `stretch_best`: that of its row; `host_gib`: the memory of a
 * shared host.
 */
void study_metrics(const struct engine_result *result, double stretch_best, double host_gib,
		   double ret_values[STUDY_METRICS]);

/* Values per trial of each metric that the trial has. */
struct study_values {
	GArray *of[STUDY_METRICS]; /* double */
};

void study_values_init(struct study_values *values);
/* Adds a trial. */
void study_values_add(struct study_values *values, const double metrics[STUDY_METRICS]);
void study_values_clear(struct study_values *values);
