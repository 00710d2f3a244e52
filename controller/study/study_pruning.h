/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * Studies of tasks with deadlines on machines with queues (Gentry 2019, section VII): what its figures
 * show of every policy (controller/engine/robustness.h has the terms).
 */

/* Whether the tasks of a study have deadlines and queues. */
bool study_prunes(const struct config *config);

/* The quantities of a run, percent but for the cost. */
enum study_pruning {
	STUDY_PRUNING_ROBUSTNESS, /* tasks on time, of those that count */
	STUDY_PRUNING_VARIANCE,   /* over the types, of their shares of tasks on time (Fig. 6) */
	STUDY_PRUNING_COST,       /* of what counts, per percent on time (VII.F) */
};

/* One of them; NAN where it is not known, as the cost is where no task was on time. */
double study_pruning_value(const struct engine_result *result, enum study_pruning quantity);

/*
 * Writes DIR/pruning.csv: for every policy and point the means of the three with 95 % intervals over
 * the trials, and the mean of the machines' busy seconds. Returns true, or false with `error` set.
 */
bool study_write_pruning(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error);
