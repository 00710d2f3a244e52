/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_cells.h"

#include "controller/report/csv.h"
#include "controller/report/stats.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

static void cell_free(gpointer data)
{
	struct study_cell *cell = data;

	for (guint m = 0; m < cell->metrics; m++)
		g_array_unref(cell->values[m]);
	g_free(cell->values);
	g_free(cell->policy);
	g_free(cell);
}

GPtrArray *study_cells_new(void)
{
	return g_ptr_array_new_with_free_func(cell_free);
}

static struct study_cell *cell_new(GPtrArray *cells, const struct study_row *row, double limit_j,
				   guint metrics)
{
	struct study_cell *cell = g_new0(struct study_cell, 1);

	cell->policy = g_strdup(row->policy);
	cell->point = row->point;
	cell->limit_j = limit_j;
	cell->metrics = metrics;
	cell->values = g_new(GArray *, metrics);
	for (guint m = 0; m < metrics; m++)
		cell->values[m] = g_array_new(FALSE, FALSE, sizeof(double));
	g_ptr_array_add(cells, cell);
	return cell;
}

static void add_values(struct study_cell *cell, const double *values)
{
	cell->runs++;
	for (guint m = 0; m < cell->metrics; m++)
		if (values[m] != STUDY_NONE)
			g_array_append_val(cell->values[m], values[m]);
}

void study_cells_add(GPtrArray *cells, const struct study_row *row, double limit_j,
		     const double *values, guint metrics)
{
	struct study_cell *last = cells->len > 0 ? cells->pdata[cells->len - 1] : NULL;

	if (!last || !g_str_equal(last->policy, row->policy) || last->limit_j != limit_j ||
	    last->point.size != row->point.size || last->point.value != row->point.value)
		last = cell_new(cells, row, limit_j, metrics);
	add_values(last, values);
}

void study_cells_add_to_policy(GPtrArray *cells, const struct study_row *row, const double *values,
			       guint metrics)
{
	guint i = 0;

	while (i < cells->len &&
	       !g_str_equal(((struct study_cell *)cells->pdata[i])->policy, row->policy))
		i++;
	add_values(i < cells->len ? cells->pdata[i] : cell_new(cells, row, 0, metrics), values);
}

void study_csv_number(GString *csv, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	csv_text(csv, isfinite(value) ? g_ascii_dtostr(number, sizeof(number), value) : NULL);
}

void study_csv_mean(GString *csv, const GArray *values)
{
	study_csv_number(csv, stats_mean(stats_values(values), values->len));
}

void study_csv_interval(GString *csv, const GArray *values)
{
	const struct stats_interval interval =
		stats_t_interval(stats_values(values), values->len, LEVEL);

	study_csv_number(csv, interval.value);
	study_csv_number(csv, interval.low);
	study_csv_number(csv, interval.high);
}

bool study_write_file(const char *dir, const char *name, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	return g_file_set_contents(path, text, -1, error);
}
