/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/compare.h"
#include "controller/report/summary.h"

/*
 * The noise of a measurement that was made once: the deviation of its utility, and on shared hosts
 * of its mean bounded stretch, from one repeat to the next. The measured experiment is simulated
 * many times with the same configuration, estimates, arrivals, policy and limit. Each task takes
 * its ETC and EEC times a pair of ratios (time, energy), drawn from those of the completed tasks of
 * the measured runs on the same cluster (on any cluster, where fewer than RESAMPLING_RATIOS_MIN
 * completed).
 *
 * Effects on all tasks of a run together (such as a host whose speed changes) are drawn once per
 * repeat: the pace of one of the measured runs, which is its mean ratio over that of all runs. With
 * a single measured run these effects are unknown.
 *
 * Tasks with deadlines on queueing clusters (environment.pruning) draw their execution times from
 * their measured distributions (PET) instead of ETCs and ratios, at such a pace.
 *
 * So the result contains the noise of execution times and energies (launching included, which
 * measured times contain) and its consequences: other decisions, other nodes, an earlier or later
 * end.
 *
 * The build that measures records the noise (resampling_record()), and every other build uses this
 * record: the policies of the other build do not matter. Nothing is simulated where the noise is
 * only read.
 */
struct resampling;
typedef struct resampling resampling_t; /* for g_autoptr() */

/* Simulated repeats per policy and limit, and the fewest ratios to draw from. */
enum { RESAMPLING_REPEATS = 200, RESAMPLING_RATIOS_MIN = 5 };

#define RESAMPLING_ERROR (resampling_error_quark())
GQuark resampling_error_quark(void);
enum resampling_error {
	RESAMPLING_ERROR_RATIOS = 1, /* too few completed tasks to draw from */
	RESAMPLING_ERROR_POLICIES,   /* this build knows none of the policies */
	RESAMPLING_ERROR_RECORD,     /* no noise of these runs is on record */
};

/*
 * The noise of `measured` (borrowed for its life): the recorded noise of these runs, and, where
 * `simulate` is set, a simulation by its `config.yaml` of the policies and limits that the record
 * lacks. Returns NULL with `error` where nothing is on record, and the simulation is not wanted or
 * impossible: no configuration, no estimates, too few completed tasks, no policy that this build
 * knows.
 */
struct resampling *resampling_new(const struct summary *measured, bool simulate, GError **error);

/*
 * The policies of unknown noise, which is not on record at all limits, and is not simulated, as it
 * is not wanted or impossible; as one line; NULL: none. The caller frees.
 */
char *resampling_unknown(const struct resampling *noise);

/*
 * Records the noise of all policies and limits of the measured directory `dir`, unless it is
 * recorded for these runs. Returns true, also where it cannot be simulated, or false with `error`
 * (DATABASE_ERROR).
 */
bool resampling_record(const char *dir, GError **error);

/* NULL is allowed. */
void resampling_free(struct resampling *noise);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(resampling_t, resampling_free)

/*
 * Why a cell that was to be simulated is not known: a policy from outside did not decide. Borrowed;
 * NULL: there is no such cell so far. NULL is allowed.
 */
const GError *resampling_failure(const struct resampling *noise);

/*
 * The callback for compare_new(); valid until resampling_free(). NULL for NULL. A cell is simulated
 * once, at its first use; equal run directories give equal figures.
 */
struct compare_resampling *resampling_compare(struct resampling *noise);
