/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_pruning.h"

#include <math.h>

#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/csv.h"
#include "controller/study/study_cells.h"

bool study_prunes(const struct config *config)
{
	return config_environment(config) && config_environment(config)->pruning;
}

double study_pruning_value(const struct engine_result *result, enum study_pruning quantity)
{
	const double percent = 100.0 * result->tasks_on_time / result->tasks_counted;

	if (result->tasks_counted == 0)
		return NAN;
	switch (quantity) {
	case STUDY_PRUNING_VARIANCE:
		return 100 * result->type_variance;
	case STUDY_PRUNING_COST:
		return percent > 0 ? result->cost / percent : (double)NAN;
	case STUDY_PRUNING_ROBUSTNESS:
		break;
	}
	return percent;
}

/* The quantities of the table; the last metric is the busy seconds. */
enum { QUANTITIES = STUDY_PRUNING_COST + 1 };

static void add_row(const struct study_row *row, void *data)
{
	double values[QUANTITIES + 1] = {[QUANTITIES] = row->result.busy_s};

	for (int q = 0; q < QUANTITIES; q++)
		values[q] = study_known(
			study_pruning_value(&row->result, (enum study_pruning)q));
	study_cells_add(data, row, 0, values, G_N_ELEMENTS(values));
}

bool study_write_pruning(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error)
{
	const bool swept = config_sweep_find(config_study(config)->x) != NULL;
	g_autoptr(GPtrArray) cells = study_cells_new();
	/* A mean over only some trials could not be compared with another policy's over all. */
	g_autoptr(GArray) unknown = g_array_new(FALSE, FALSE, sizeof(double));
	g_autoptr(GString) csv = g_string_new(
		"policy,value,trials,robustness_percent_mean,robustness_percent_low,"
		"robustness_percent_high,type_variance_percent_mean,type_variance_percent_low,"
		"type_variance_percent_high,cost_per_percent_mean,cost_per_percent_low,"
		"cost_per_percent_high,busy_s_mean\n");

	if (!study_store_each_of(store, config, policies, add_row, cells, error))
		return false;
	for (guint i = 0; i < cells->len; i++) {
		const struct study_cell *cell = cells->pdata[i];

		csv_text(csv, cell->policy);
		study_csv_number(csv, swept ? cell->point.value : (double)NAN);
		csv_integer(csv, cell->runs);
		for (int q = 0; q < QUANTITIES; q++)
			study_csv_interval(csv, cell->values[q]->len < cell->runs
							? unknown
							: cell->values[q]);
		study_csv_mean(csv, cell->values[QUANTITIES]);
		csv_end(csv);
	}
	return study_write_file(dir, "pruning.csv", csv->str, error);
}
