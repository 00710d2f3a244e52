/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * The figures of a study: utility (percent of the most that could be earned, where that is known)
 * and energy, or for serial tasks, which use none, completed (tasks, percent of those that arrived),
 * or on shared hosts degradation and stretch (study_sharing.h), on a logarithmic axis, or of tasks with
 * deadlines robustness, variance and cost (study_pruning.h);
 * each mean with its 95 % confidence interval over the trials, against what `study.x` of the
 * configuration says:
 *
 * - policy: a bar per policy, in the order in which they are given;
 * - limit, size: a line per policy;
 * - leniency, drop: a line per policy without that modifier, against the modifier's value;
 * - a sweep of numbers: a line per policy; of words: a group of bars per word, a bar per policy.
 *
 * Series differ by colour and by dashes, marks or patterns. Energies, which the data have in joules,
 * are drawn in the unit that fits. Modifiers that all policies share are in the title. gnuplot draws DIR/FIGURE.{png,svg} from
 * DIR/FIGURE.gp, which stays beside them, and from DIR/FIGURE.csv, which holds what is drawn.
 */

#define STUDY_FIGURE_ERROR (study_figure_error_quark())
GQuark study_figure_error_quark(void);
enum study_figure_error {
	STUDY_FIGURE_ERROR_POLICY = 1, /* a policy without what `study.x` asks for: bad input */
	STUDY_FIGURE_ERROR_GNUPLOT,    /* drawing failed */
};

/*
 * Whether `policies` (NULL-terminated names) can be drawn against what `study.x` says: before they
 * are computed. Returns true, or false with `error` set.
 */
bool study_figure_check(const struct config *config, const char *const *policies, GError **error);

/*
 * Draws the figures for which there is something to draw among what is stored of `policies`
 * (NULL-terminated names) and nothing else; a degradation factor takes the configured ones. `config`
 * is the study's. Returns the names of the figures, NULL-terminated and for the caller to
 * g_strfreev(), or NULL with `error` set.
 */
char **study_figure_draw(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error);
