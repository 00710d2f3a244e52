/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * A chart: its data as CSV, the gnuplot script that draws them, and its caption for a page.
 *
 * Data and script stay as files beside the image, NAME.csv and NAME.gp, and may be edited: `gnuplot
 * NAME.gp` draws again. The script of a chart begins with a preamble that all charts share
 * (chart_write()): it sets terminal and output by the variable `format`, names the data `data`,
 * holds the title in `heading` and puts the notes below the drawing, on the label CHART_NOTES.
 * Heading and notes are left out where the variable `bare` is set.
 */
struct chart {
	char *name;    /* of the files, without ending: [A-Za-z0-9._-] only */
	char *title;   /* the heading, one line: what the chart shows */
	/* what the numbers rest on instead of real hardware; lines below the drawing, or "" */
	char *notes;
	char *caption; /* how to read the chart, in a sentence or two */
	char *csv;     /* the data, with a row of column names */
	char *script;  /* gnuplot, without the preamble */
	guint width;   /* in pixels of the screen */
	guint height;  /* in pixels, without heading and notes */
};

/* The command for a key below the drawing. */
#define CHART_KEY "set key outside bottom center horizontal Left reverse samplen 1.5"

/* gnuplot's label for the notes. Scripts with several panels unset it after the first. */
#define CHART_NOTES "999"
typedef struct chart chart_t; /* for g_autoptr() */

enum chart_format { CHART_PNG = 0, CHART_SVG, CHART_PDF };

/* The format named "png", "svg" or "pdf", or -1. */
int chart_format_parse(const char *name);

#define CHART_ERROR (chart_error_quark())
GQuark chart_error_quark(void);
enum chart_error { CHART_ERROR_WRITE = 1, CHART_ERROR_GNUPLOT };

/*
 * An empty chart whose name is made of the printf format, with every character that is unfit for
 * file names replaced by "_".
 */
struct chart *chart_new(const char *format, ...) G_GNUC_PRINTF(1, 2);
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
 * Runs gnuplot on DIR/NAME.gp with the variable `folder` and those of `settings`, such as
 * "format='png'". False with `error`.
 */
bool chart_gnuplot(const char *dir, const char *name, const char *settings, GError **error);

/* Text in gnuplot's single quotes, on one line. The caller frees. */
char *chart_quoted(const char *text);

/*
 * The colour number `index`, 0xRRGGBB, of the palette by Okabe and Ito, which people with any
 * colour vision can distinguish, without black and yellow. It repeats after the sixth.
 */
guint32 chart_colour(guint index);

/*
 * The style of series `index` in gnuplot's syntax, so that 60 lines differ: by colour, dashes and
 * marks ("lc rgb '#d55e00' dt 1 pt 5"), and without colour by dashes and marks. Bars differ by
 * colour and pattern, 42 of them. The caller frees.
 */
char *chart_line(guint index);
/* `share`: strength of the colour from 0, white, to 1. The caller frees. */
char *chart_fill(guint index, double share);

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

/* Adds "NAME = VALUE" with all digits to a script. */
void chart_put_number(GString *script, const char *name, double value);

/* Adds the place of a panel of `height` pixels, `top` pixels below the heading. */
void chart_put_panel(GString *script, guint top, guint height);

/*
 * Adds what charts of several panels begin with. `left`: the part of the width that is left of the
 * panels; `x_range` and `grid` are gnuplot's.
 */
void chart_put_panels(GString *script, const char *left, const char *x_range, const char *grid);

/*
 * Adds a script's variables for a time axis that ends at `end_s`: `time_scale`, a factor for
 * seconds, and `since`, the axis label.
 */
void chart_put_time(GString *script, double end_s);

/* The range of such an axis. The caller frees. */
char *chart_time_range(double end_s);

/* The lines of summary_heading() about what the numbers rest on, for `notes`. The caller frees. */
char *chart_notes(const struct summary *summary);

/* The title of a run, "measured: demo, max-upr at 60 %, repeat 1". The caller frees. */
char *chart_run_title(const struct summary *summary, const struct store_run *run);
/* The part of file names for a run, "3-max-upr-60". The caller frees. */
char *chart_run_stem(const struct store_run *run);
