/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * A chart: its data as CSV, the gnuplot program that draws them, the variables of that program, and
 * a caption for a page.
 *
 * Data and program stay as files beside the image, NAME.csv and NAME.gp, and may be edited:
 * `gnuplot NAME.gp` draws again. NAME.gp is the variables, then chart.gp, which all charts share
 * (terminal and output by the variable `format`, heading and notes, the looks of series), then the
 * program of the chart's kind. A program reads names and texts from variables only, so that they
 * are never taken for gnuplot's own. Heading and notes are left out where the variable `bare` is
 * set.
 */
struct chart {
	char *name; /* of the files, without ending: [A-Za-z0-9._-] only */
	/* the heading, one line: what the chart shows; NULL: the program has its own */
	char *title;
	/* char *: below the drawing, what the numbers rest on instead of real hardware; or NULL */
	GPtrArray *notes;
	char *caption;      /* how to read the chart, in a sentence or two; NULL: on no page */
	char *csv;          /* the data, with a row of column names */
	GString *variables; /* assignments, a line each; made by chart_set_text() and the like */
	char *program;      /* gnuplot */
	guint width;        /* in pixels of the screen */
	guint height;       /* in pixels, without heading and notes */
};
typedef struct chart chart_t; /* for g_autoptr() */

enum chart_format { CHART_PNG = 0, CHART_SVG, CHART_PDF };

/* The format named "png", "svg" or "pdf", or -1. */
int chart_format_parse(const char *name);

#define CHART_ERROR (chart_error_quark())
GQuark chart_error_quark(void);
enum chart_error { CHART_ERROR_WRITE = 1, CHART_ERROR_GNUPLOT };

/*
 * A chart without data. `kind`: the file of its program without ending. The name is made of the
 * printf format, with every character that is unfit for file names replaced by "_".
 */
struct chart *chart_new(const char *kind, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* NULL is allowed. */
void chart_free(struct chart *chart);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(chart_t, chart_free)

/* Writes NAME.csv and NAME.gp into `dir`, which is made if missing. False with `error`. */
bool chart_write(const struct chart *chart, const char *dir, GError **error);

/*
 * Draws a chart that chart_write() wrote to `dir`. Returns the image's path, which the caller
 * frees, or NULL with `error`.
 */
char *chart_draw(const struct chart *chart, const char *dir, enum chart_format format,
		 GError **error);

/*
 * As chart_draw(), without heading, notes and a file that stays: returns the text of an SVG for a
 * page with its own heading. The caller frees it.
 */
char *chart_draw_bare(const struct chart *chart, const char *dir, GError **error);

/*
 * Set a variable of a chart's program. A number that is not finite becomes NaN. Texts are shown as
 * visible_text() in gnuplot's single quotes, where nothing is replaced; line ends become blanks.
 */
void chart_set_number(struct chart *chart, const char *name, double value);
void chart_set_text(struct chart *chart, const char *name, const char *text);

/*
 * Set an array, of double or char *. An empty one gets an element, NaN or "", since gnuplot has no
 * empty arrays.
 */
void chart_set_numbers(struct chart *chart, const char *name, const GArray *values);
void chart_set_texts(struct chart *chart, const char *name, const GPtrArray *texts);

/* A unit for values up to `max`; *ret_scale is its value per base unit. */
typedef const char *(*chart_unit_f)(double max, double *ret_scale);

/* Sets NAME_scale and NAME_unit by the unit for values up to `max`. */
void chart_set_unit(struct chart *chart, const char *name, chart_unit_f unit, double max);

/* Sets what a time axis needs that ends at `end_s`: end_s, time_scale and time_unit. */
void chart_set_time(struct chart *chart, double end_s);

/* The number of patterns of bars that differ without colour; then they repeat. */
#define CHART_PATTERNS 7

/*
 * The unit for energies up to `max_j` joules, from "J" to "PJ"; *ret_scale is its value per joule.
 */
const char *chart_energy_unit(double max_j, double *ret_scale);
/* The unit for times up to `max_s` seconds: "s", "min", "h" or "days"; *ret_scale per second. */
const char *chart_time_unit(double max_s, double *ret_scale);
/* The unit for powers up to `max_w` watts: "W", "kW" or "MW"; *ret_scale per watt. */
const char *chart_power_unit(double max_w, double *ret_scale);
/* "2.80 MJ": an energy with its unit. The caller frees. */
char *chart_energy_text(double joules);

/* The lines of summary_heading() about what the numbers rest on, for `notes`. The caller frees. */
GPtrArray *chart_notes(const struct summary *summary);

/* The title of a run, "measured: demo, max-upr at 60 %, repeat 1". The caller frees. */
char *chart_run_title(const struct summary *summary, const struct store_run *run);
/* The part of file names for a run, "3-max-upr-60". The caller frees. */
char *chart_run_stem(const struct store_run *run);
