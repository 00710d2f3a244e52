/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * The figure of utility against energy limit (Fig. 16 of paper 002): for each limit a group of
 * bars, for each policy a bar per run directory (measured full, simulated light), each with its
 * standard deviation.
 *
 * gnuplot draws it from a script and a data file that stay beside the image: `utility.gp` and
 * `utility.dat` are meant to be edited and drawn again by `gnuplot utility.gp`.
 */

enum plot_format { PLOT_PNG = 0, PLOT_SVG, PLOT_PDF };

/* The format named "png", "svg" or "pdf", or -1. */
int plot_format_parse(const char *name);

#define PLOT_ERROR (plot_error_quark())
GQuark plot_error_quark(void);
enum plot_error { PLOT_ERROR_WRITE = 1, PLOT_ERROR_GNUPLOT };

/*
 * Draws `count` > 0 runs side by side into directory `dir` (made when missing). Returns the path of
 * the image, which the caller frees, or NULL with `error` set.
 */
char *plot_utility(struct summary *const *summaries, guint count, const char *dir,
		   enum plot_format format, GError **error);
