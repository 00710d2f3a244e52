/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_sharing.h"

#include <math.h>

#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/csv.h"
#include "controller/report/stats.h"
#include "controller/study/study_cells.h"

bool study_shares(const struct config *config)
{
	return config_environment(config) && config_environment(config)->sharing;
}

double study_degradation(const struct study_row *row)
{
	return row->stretch_best > 0 && row->result.stretch_max > 0
		       ? row->result.stretch_max / row->stretch_best
		       : (double)NAN;
}

/* The divisor of a metric. */
enum per { PER_RUN, PER_JOB, PER_HOUR, PER_SECOND };

/* Where a figure of a run is, and whether it is a count (uint64_t) or a double. */
#define REAL(field_) offsetof(struct engine_result, field_), false
#define COUNT(field_) offsetof(struct engine_result, field_), true

/* The first one, the degradation factor, needs more than the result. */
static const struct metric {
	const char *name;
	enum per per; /* per second: memory relative to the hosts', as GiB */
	size_t offset;
	bool count;
	double factor; /* 2: the memory of suspended VMs is written and read back */
} metrics[] = {
	{ "degradation" },
	{ "stretch_max", PER_RUN, REAL(stretch_max), 1 },
	{ "stretch_mean", PER_RUN, REAL(stretch_mean), 1 },
	{ "pauses_per_job", PER_JOB, COUNT(pauses), 1 },
	{ "migrations_per_job", PER_JOB, COUNT(migrations), 1 },
	{ "pauses_per_hour", PER_HOUR, COUNT(pauses), 1 },
	{ "migrations_per_hour", PER_HOUR, COUNT(migrations), 1 },
	{ "pause_gib_s", PER_SECOND, REAL(paused_memory), 2 },
	{ "migration_gib_s", PER_SECOND, REAL(moved_memory), 1 },
};

#define METRICS G_N_ELEMENTS(metrics)

/* The table under construction. */
struct tables {
	double host_gib;
	GPtrArray *cells; /* study_cells.h */
	GPtrArray *all;   /* the same over all points */
};

static double metric_value(const struct tables *tables, const struct metric *metric,
			   const struct study_row *row)
{
	const struct engine_result *result = &row->result;
	const void *place = (const char *)result + metric->offset;
	double value;

	if (metric == &metrics[0])
		return study_degradation(row);
	value = metric->factor *
		(metric->count ? (double)*(const uint64_t *)place : *(const double *)place);
	switch (metric->per) {
	case PER_JOB:
		return value / result->tasks_completed;
	case PER_HOUR:
		return value / (result->span_s / 3600);
	case PER_SECOND:
		return value * tables->host_gib / result->span_s;
	case PER_RUN:
		break;
	}
	return value;
}

static void add_row(const struct study_row *row, void *data)
{
	struct tables *tables = data;
	double values[METRICS];

	for (size_t m = 0; m < METRICS; m++)
		values[m] = row->result.stretch_max > 0
				    ? study_known(metric_value(tables, &metrics[m], row))
				    : STUDY_NONE;
	study_cells_add(tables->cells, row, 0, values, METRICS);
	study_cells_add_to_policy(tables->all, row, values, METRICS);
}

static void put_values(GString *csv, const struct study_cell *cell)
{
	csv_integer(csv, cell->values[1]->len);
	for (size_t m = 0; m < METRICS; m++) {
		const double *values = stats_values(cell->values[m]);
		const guint count = cell->values[m]->len;

		study_csv_mean(csv, cell->values[m]);
		study_csv_number(csv, stats_sd(values, count));
		study_csv_number(csv, stats_quantile(values, count, 1));
	}
	csv_end(csv);
}

static char *tables_text(const struct tables *tables, const struct config *config)
{
	const bool swept = config_sweep_find(config_study(config)->x) != NULL;
	GString *csv = g_string_new("policy,size,value,trials");

	for (size_t m = 0; m < METRICS; m++)
		g_string_append_printf(csv, ",%s_mean,%s_sd,%s_max", metrics[m].name,
				       metrics[m].name, metrics[m].name);
	csv_end(csv);
	for (guint i = 0; i < tables->cells->len; i++) {
		const struct study_cell *cell = tables->cells->pdata[i];

		csv_text(csv, cell->policy);
		study_csv_number(csv, cell->point.size);
		study_csv_number(csv, swept ? cell->point.value : (double)NAN);
		put_values(csv, cell);
	}
	for (guint i = 0; tables->cells->len > tables->all->len && i < tables->all->len; i++) {
		const struct study_cell *cell = tables->all->pdata[i];

		g_string_append_printf(csv, "%s,all,all", cell->policy);
		put_values(csv, cell);
	}
	return g_string_free(csv, FALSE);
}

bool study_write_sharing(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error)
{
	g_autoptr(GPtrArray) cells = study_cells_new();
	g_autoptr(GPtrArray) all = study_cells_new();
	g_autofree char *text = NULL;
	struct tables tables = {
		.host_gib = (double)config->clusters[0].memory_mib / 1024,
		.cells = cells,
		.all = all,
	};

	if (!study_store_each_of(store, config, policies, add_row, &tables, error))
		return false;
	text = tables_text(&tables, config);
	return study_write_file(dir, "sharing.csv", text, error);
}
