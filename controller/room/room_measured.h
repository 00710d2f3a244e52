/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"
#include "controller/room/room.h"

/*
 * How large the errors of each kind were in a measured experiment, in the sizes of room.h, so that
 * they stand beside those that turn a verdict. Completed tasks tell by their ratios of measured to
 * estimated execution time:
 *
 * - load: the sum of the measured times over that of the estimated ones is the pace of the machine;
 * tasks that all take 1.1 times as long are a load 1.1 times as high. The other direction is 0.
 * - estimates and noise: the variance of the logarithms of the ratios between the pairs of type and
 * cluster, and within them: the estimators of the analysis of variance for a one-way random model
 * with unbalanced data (Searle, Casella and McCulloch, "Variance Components", 1992). The
 * machine's speed that changes from minute to minute is in the noise.
 * - overhead: what suspensions took, and the time for which migrations stopped a task, less what
 * the simulation counts for suspensions, as a mean over all starts, resumptions and migrations.
 * Launching is a part of measured and estimated execution times, and not counted here.
 */

/*
 * Fills `ret_sizes`; NAN: unknown. `experiment` is that of the simulation, with the overheads that
 * it ran with, `unit_s` its room_overhead_unit_s(). False with `error` (DATABASE_ERROR).
 */
bool room_measured(const struct summary *measured, const struct experiment *experiment,
		   double unit_s, double ret_sizes[ROOM_KINDS], GError **error);

/* A completed task, for room_variances(). */
struct room_ratio {
	uint32_t pair;    /* number of its pair of type and cluster */
	double logarithm; /* of measured / estimated execution time */
};

/*
 * The deviations within and between the pairs of some tasks (struct room_ratio), in any order; NAN:
 * too few to tell.
 */
void room_variances(const GArray *ratios, double *ret_within_sd, double *ret_between_sd);
