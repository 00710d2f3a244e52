/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "common/config.h"
#include "controller/study/study_store.h"

/*
 * The figures of a study: utility (percent of the most that could be earned, where that is known)
 * and energy, each mean with its 95 % confidence interval over the trials, against what
 * `study.x` of the configuration says:
 *
 * - policy: a bar per policy, in configured order;
 * - limit, size: a line per policy;
 * - leniency, drop: a line per policy without that modifier, against the modifier's value.
 *
 * Modifiers that all policies share are in the title. gnuplot draws DIR/utility.{png,svg} and
 * DIR/energy.{png,svg} from .gp scripts that stay beside them, and from DIR/utility.csv and
 * DIR/energy.csv, which hold what is drawn.
 */

#define STUDY_FIGURE_ERROR (study_figure_error_quark())
GQuark study_figure_error_quark(void);
enum study_figure_error {
	STUDY_FIGURE_ERROR_POLICY = 1, /* a policy without what `study.x` asks for: bad input */
	STUDY_FIGURE_ERROR_GNUPLOT,    /* drawing failed */
};

/*
 * Draws all figures of what is stored. `config` is the study's. *ret_drawn: whether there was
 * anything to draw: trials of a configured policy. Returns true, or false with `error` set.
 */
bool study_figure_draw(struct study_store *store, const struct config *config, const char *dir,
		       bool *ret_drawn, GError **error);
