/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "controller/report/compare.h"
#include "controller/report/summary.h"

/*
 * The noise of a measurement that was made once: what its utility, and on shared hosts its mean
 * bounded stretch, would deviate by from one repeat to the next. The measured experiment is simulated again and
 * again: the same configuration, estimates, arrivals, policy and limit, but every task takes its ETC and EEC times a
 * pair of ratios (time, energy) drawn from those that the completed tasks of the measured runs showed on the same
 * cluster (on any cluster, where fewer than RESAMPLING_RATIOS_MIN did).
 *
 * What moved all tasks of a run together (a host whose speed changes) is drawn once per repeat: the
 * pace of one of the measured runs, its mean ratio over that of all runs. Where one run was measured
 * at all, nothing is known of it.
 *
 * Tasks with deadlines on machines with queues (environment.pruning) take what is drawn anew from their
 * measured distributions (PET), at such a pace, in place of ETCs and ratios.
 *
 * So it holds the noise of execution times and energies (launching included, which measured times
 * contain), and what follows from it: other decisions, other places, an earlier or later end.
 *
 * The build that measures records it (resampling_record()), and every other one takes it from there: which
 * policies that knows, and what it makes of them, counts for nothing.
 */
struct resampling;
typedef struct resampling resampling_t; /* for g_autoptr() */

/* Simulated repeats per policy and limit, and the fewest ratios to draw from. */
enum { RESAMPLING_REPEATS = 200, RESAMPLING_RATIOS_MIN = 5 };

#define RESAMPLING_ERROR (resampling_error_quark())
GQuark resampling_error_quark(void);
enum resampling_error {
	RESAMPLING_ERROR_RATIOS = 1, /* too few completed tasks to draw from */
	RESAMPLING_ERROR_POLICIES,   /* none that this build knows */
};

/*
 * Prepares the noise of `measured` (borrowed for its life): what is on record of these runs, else from
 * its `config.yaml`. Returns NULL with `error` set when it cannot be simulated: no configuration, no
 * estimates, too few completed tasks, no policy that this build knows.
 */
struct resampling *resampling_new(const struct summary *measured, GError **error);

/*
 * The policies whose noise cannot be told, since it is not on record and this build does not know
 * them, as one line; NULL: none. The caller frees.
 */
char *resampling_unknown(const struct resampling *noise);

/*
 * Records the noise of all policies and limits of the measured directory `dir`, unless that of these
 * runs is on record. Returns true, also where it cannot be simulated, or false with `error`
 * (STORE_ERROR) set.
 */
bool resampling_record(const char *dir, GError **error);

/* NULL is allowed. */
void resampling_free(struct resampling *noise);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(resampling_t, resampling_free)

/*
 * What compare_new() asks; valid until resampling_free(). Cells are simulated when they are asked for,
 * once; the same run directory gives the same figures.
 */
struct compare_resampling *resampling_compare(struct resampling *noise);
