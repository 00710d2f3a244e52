/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * Studies of shared hosts (Stillwell 2010, section V): the figures of Tables I and II for every
 * policy.
 *
 * The degradation factor of a policy on a trial is its largest bounded stretch over the least such
 * value of all configured policies.
 */

/* Whether the jobs of a study share hosts. */
bool study_shares(const struct config *config);

/*
 * The degradation factor of a row; NAN where a job did not end, or where the trial lacks the
 * results of a configured policy.
 */
double study_degradation(const struct study_row *row);

/*
 * Writes DIR/sharing.csv: for each of `policies` (NULL-terminated) at each point, and with several
 * points also over all ("all"), the mean, the standard deviation and the maximum over the trials of
 *
 *
 * - the degradation factor, the largest and the mean bounded stretch,
 * - suspensions and migrations of jobs, per job and per hour from the first arrival to the last
 * end,
 * - the memory of suspended VMs, and of migrated ones, written and read back, per second of that
 * time: GiB for hosts as large as the configured nodes.
 *
 *
 * Runs in which a job did not end are left out, as are trials without a degradation factor. Returns
 * true, or false with `error`.
 */
bool study_write_sharing(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error);
