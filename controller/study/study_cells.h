/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>

#include "controller/study/study_store.h"

/*
 * The rows of a policy at a point, as the values of some metrics per trial, and their statistics as
 * fields of CSV (controller/report/csv.h).
 */
struct study_cell {
	char *policy;
	struct study_point point;
	double limit_j;
	uint32_t runs;   /* number of rows */
	guint metrics;
	GArray **values; /* double: for each metric, a value per trial that has one */
};

/* Of a metric that a run does not have. A NAN is a value, whose mean is unknown. */
#define STUDY_NONE ((double)-INFINITY)

/* The value, or STUDY_NONE for a NAN. */
static inline double study_known(double value)
{
	return isnan(value) ? STUDY_NONE : value;
}

/* A list of struct study_cell, owned by the caller. */
GPtrArray *study_cells_new(void);

/*
 * Adds a row with its values of `metrics` metrics, or STUDY_NONE, to the cell of its policy, point
 * and limit: the last one, since rows come in order. `limit_j` is that of the row, or 0 for cells
 * over all limits.
 */
void study_cells_add(GPtrArray *cells, const struct study_row *row, double limit_j,
		     const double *values, guint metrics);

/* As study_cells_add(), to the cell of its policy over all points and limits. */
void study_cells_add_to_policy(GPtrArray *cells, const struct study_row *row, const double *values,
			       guint metrics);

/* A number with all its digits; empty where it is not finite. */
void study_csv_number(GString *csv, double value);

/* The mean of values. */
void study_csv_mean(GString *csv, const GArray *values);

/* The mean of values and the bounds of its 95 % interval. */
void study_csv_interval(GString *csv, const GArray *values);

/* Writes DIR/NAME. False with `error`. */
bool study_write_file(const char *dir, const char *name, const char *text, GError **error);
