/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * Studies of tasks with deadlines on queueing clusters (Gentry 2019, section VII): the quantities
 * of its figures for every policy (controller/engine/robustness.h defines the terms).
 */

/* Whether the tasks of a study have deadlines and queues. */
bool study_prunes(const struct config *config);

/* The quantities of a run, in percent except for the cost. */
enum study_pruning {
	STUDY_PRUNING_ROBUSTNESS, /* tasks on time, in percent of those that count */
	/* variance over the types of their percentages of tasks on time (Fig. 6) */
	STUDY_PRUNING_VARIANCE,
	STUDY_PRUNING_COST,       /* cost of the tasks that count, per percent on time (VII.F) */
};

/* A quantity of a run; NAN where it is unknown, as the cost is where no task was on time. */
double study_pruning_value(const struct engine_result *result, enum study_pruning quantity);

/*
 * Writes DIR/pruning.csv: for every policy and point the means of the three quantities with 95 %
 * intervals over the trials, and the mean of the clusters' busy seconds. Returns true, or false
 * with `error`.
 */
bool study_write_pruning(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error);
