/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * Studies of shared hosts (Stillwell 2010, section V): what Tables I and II say of every policy.
 *
 * The degradation factor of a policy on a trial is its largest bounded stretch over that of the best
 * of the configured policies there.
 */

/* Whether the jobs of a study share hosts. */
bool study_shares(const struct config *config);

/* The best of every trial. */
struct study_best;

/* Reads what is stored. Returns it, or NULL with `error` set. */
struct study_best *study_best_new(struct study_store *store, const struct config *config,
				  GError **error);

/* NULL is allowed. */
void study_best_free(struct study_best *best);
typedef struct study_best study_best_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(study_best_t, study_best_free)

/*
 * The degradation factor of a row; NAN where not all jobs ended, or where the trial lacks the results
 * of a configured policy.
 */
double study_degradation(const struct study_best *best, const struct study_row *row);

/*
 * Writes DIR/sharing.csv: for each of `policies` (NULL-terminated) and point, and for each over all points ("all")
 * where there are several, the mean, the standard deviation and the maximum over the trials of
 *
 * - the degradation factor, the largest and the mean bounded stretch,
 * - pauses and migrations, of jobs, per job and per hour from the first arrival to the last end,
 * - the memory of the VMs that were paused, and of those that went elsewhere, written and read back,
 *   per second of that time: GiB for hosts as large as the configured nodes.
 *
 * Runs in which not all jobs ended are left out, as are trials without a degradation factor. Returns
 * true, or false with `error` set.
 */
bool study_write_sharing(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error);
