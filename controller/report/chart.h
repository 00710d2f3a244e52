/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "controller/report/summary.h"

/*
 * A chart: its data as CSV, the gnuplot script that draws them, and what a page says beside it.
 *
 * Both stay as files beside the image, NAME.csv and NAME.gp, and are meant to be edited: `gnuplot
 * NAME.gp` draws again. The script of a chart begins with a preamble that all charts share
 * (chart_write()): it sets terminal and output by the variable `format`, names the data `data`, holds
 * the title in `heading` and puts the notes below what is drawn, on the label CHART_NOTES. Both are
 * left out where the variable `bare` is set.
 */
struct chart {
	char *name;    /* of the files, without ending: [A-Za-z0-9._-] only */
	char *title;   /* one line: what it shows of what; the heading */
	char *notes;   /* what the numbers rest on that is not the real thing; lines below, or "" */
	char *caption; /* how to read it, in a sentence or two */
	char *csv;     /* the data, with a row of column names */
	char *script;  /* gnuplot, without the preamble */
	guint width;   /* in pixels of the screen */
	guint height;  /* the same, without heading and notes */
};

/* gnuplot's label that holds the notes: scripts of several panels unset it after the first. */
#define CHART_NOTES "999"
typedef struct chart chart_t; /* for g_autoptr() */

enum chart_format { CHART_PNG = 0, CHART_SVG, CHART_PDF };

/* The format named "png", "svg" or "pdf", or -1; and the name of a format. */
int chart_format_parse(const char *name);
/* "png", "svg" or "pdf". */
const char *chart_format_name(enum chart_format format);

#define CHART_ERROR (chart_error_quark())
GQuark chart_error_quark(void);
enum chart_error { CHART_ERROR_WRITE = 1, CHART_ERROR_GNUPLOT };

/*
 * An empty chart with a name made of the printf format, every character that a file name should
 * not have replaced by "_".
 */
struct chart *chart_new(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* NULL is allowed. */
void chart_free(struct chart *chart);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(chart_t, chart_free)

/* Writes NAME.csv and NAME.gp into `dir`, which is made when missing. */
bool chart_write(const struct chart *chart, const char *dir, GError **error);

/*
 * Draws a chart that chart_write() has put into `dir`. Returns the image's path, which the caller
 * frees, or NULL with `error` set.
 */
char *chart_draw(const struct chart *chart, const char *dir, enum chart_format format,
		 GError **error);

/*
 * The same without heading and without a file that stays, as the text of an SVG for a page that
 * has its own heading; the caller frees it.
 */
char *chart_draw_bare(const struct chart *chart, const char *dir, GError **error);

/* Text in gnuplot's single quotes, on one line. The caller frees. */
char *chart_quoted(const char *text);

/*
 * A colour by number, 0xRRGGBB: Okabe and Ito's, which people with any colour vision tell apart,
 * black and yellow left out. They begin again after the sixth.
 */
guint32 chart_colour(guint index);

/*
 * How series `index` is drawn, in gnuplot's words, so that 60 of each are told apart: lines by
 * colour, dashes and marks ("lc rgb '#d55e00' dt 1 pt 5"), without colour by dashes and marks; bars by
 * colour and pattern, of which 42 differ. The caller frees.
 */
char *chart_line(guint index);
/* `share`: of the colour, from 0, which is white, to 1. The caller frees. */
char *chart_fill(guint index, double share);

/* Patterns of bars that differ without colour; they begin again after so many. */
#define CHART_PATTERNS 7

/*
 * The unit in which energies up to `max_j` joules are read well, from "J" to "PJ"; *ret_scale is
 * how much of it a joule is.
 */
const char *chart_energy_unit(double max_j, double *ret_scale);
/* The same for times up to `max_s` seconds: "s", "min", "h" or "days". */
const char *chart_time_unit(double max_s, double *ret_scale);
/* The same for powers up to `max_w` watts: "W", "kW" or "MW". */
const char *chart_power_unit(double max_w, double *ret_scale);
/* "2.80 MJ": an energy with its unit. The caller frees. */
char *chart_energy_text(double joules);

/*
 * Adds a script's variables for a time axis that ends at `end_s`: `time_scale`, by which seconds are
 * multiplied, and `since`, its label.
 */
void chart_put_time(GString *script, double end_s);

/* The heading's lines on what numbers of this directory rest on, for `notes`. The caller frees. */
char *chart_notes(const struct summary *summary);

/* "measured: demo, max-upr at 60 %, repeat 1": a run for titles. The caller frees. */
char *chart_run_title(const struct summary *summary, const struct store_run *run);
/* "3-max-upr-60": a run for file names. The caller frees. */
char *chart_run_stem(const struct store_run *run);
