/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/study/study_store.h"

/*
 * The figures of a study: utility (percent of the highest possible utility, where that is known)
 * and energy; for serial tasks, which use none, completed (tasks, percent of those that arrived);
 * on shared hosts degradation and stretch, on a logarithmic axis; for tasks with
 * deadlines robustness, variance and cost (study_metrics.h). Each is a mean with its 95 %
 * confidence interval over the trials, against `study.x` of the configuration:
 *
 *
 * - policy: a bar per policy, in the given order;
 * - limit, size: a line per policy;
 * - leniency, drop: a line per policy without that modifier, against the modifier's value;
 * - a sweep of numbers: a line per policy; of words: a group of bars per word, a bar per policy.
 *
 *
 * Series differ by colour and by dashes, marks or patterns. Energies, in joules in the data, are
 * drawn in a suitable unit. Modifiers that all policies share are in the title. gnuplot draws
 * DIR/FIGURE.{png,svg} from DIR/FIGURE.gp, which stays beside them, and from DIR/FIGURE.csv, the
 * drawn data.
 */

#define STUDY_FIGURE_ERROR (study_figure_error_quark())
GQuark study_figure_error_quark(void);
enum study_figure_error {
	STUDY_FIGURE_ERROR_POLICY = 1, /* a policy lacks the modifier of `study.x`: bad input */
};

/*
 * Whether `policies` (NULL-terminated names) can be drawn against `study.x`, to be checked before
 * they are computed. Returns true, or false with `error`.
 */
bool study_figure_check(const struct config *config, const char *const *policies, GError **error);

/*
 * Draws the figures with data from the stored results of `policies` (NULL-terminated names) only,
 * except that a degradation factor refers to the configured policies. `config` is the study's.
 * Returns the names of the figures, NULL-terminated, for g_strfreev(), or NULL with `error`.
 */
char **study_figure_draw(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error);
