/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_pruning.h"

#include <math.h>

#include "controller/config/config_environment.h"
#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/stats.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

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

static const enum study_pruning quantities[] = { STUDY_PRUNING_ROBUSTNESS, STUDY_PRUNING_VARIANCE,
						 STUDY_PRUNING_COST };

#define QUANTITIES G_N_ELEMENTS(quantities)

/* The table under construction, and the present policy and point. */
struct tables {
	GString *text;
	const struct config_sweep *sweep;
	char *policy; /* NULL: none yet */
	struct study_point point;
	GArray *values[QUANTITIES]; /* double, per trial */
	GArray *busy_s;
};

static void put_number(GString *text, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_c(text, ',');
	if (isfinite(value))
		g_string_append(text, g_ascii_dtostr(number, sizeof(number), value));
}

/* Writes the line of the present policy and point, and clears them. */
static void end_cell(struct tables *tables)
{
	if (!tables->policy)
		return;
	g_string_append(tables->text, tables->policy);
	put_number(tables->text, tables->sweep ? tables->point.value : (double)NAN);
	g_string_append_printf(tables->text, ",%u", tables->busy_s->len);
	for (size_t q = 0; q < QUANTITIES; q++) {
		const struct stats_interval unknown = { .value = NAN, .low = NAN, .high = NAN };
		/*
		 * A mean over only some trials could not be compared with another policy's over
		 * all.
		 */
		const struct stats_interval interval =
			tables->values[q]->len < tables->busy_s->len
				? unknown
				: stats_t_interval(
					  (const double *)(const void *)tables->values[q]->data,
					  tables->values[q]->len, LEVEL);

		put_number(tables->text, interval.value);
		put_number(tables->text, interval.low);
		put_number(tables->text, interval.high);
		g_array_set_size(tables->values[q], 0);
	}
	put_number(tables->text, stats_mean((const double *)(const void *)tables->busy_s->data,
				     tables->busy_s->len));
	g_string_append_c(tables->text, '\n');
	g_array_set_size(tables->busy_s, 0);
	g_clear_pointer(&tables->policy, g_free);
}

static void add_row(const struct study_row *row, void *data)
{
	struct tables *tables = data;

	if (!tables->policy || !g_str_equal(tables->policy, row->policy) ||
	    tables->point.size != row->point.size || tables->point.value != row->point.value) {
		end_cell(tables);
		tables->policy = g_strdup(row->policy);
		tables->point = row->point;
	}
	g_array_append_val(tables->busy_s, row->result.busy_s);
	for (size_t q = 0; q < QUANTITIES; q++) {
		const double value = study_pruning_value(&row->result, quantities[q]);

		if (isfinite(value))
			g_array_append_val(tables->values[q], value);
	}
}

bool study_write_pruning(struct study_store *store, const struct config *config,
			 const char *const *policies, const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, "pruning.csv", NULL);
	struct tables tables = {
		.text = g_string_new("policy,value,trials,robustness_percent_mean,"
				     "robustness_percent_low,robustness_percent_high,"
				     "type_variance_percent_mean,type_variance_percent_low,"
				     "type_variance_percent_high,cost_per_percent_mean,"
				     "cost_per_percent_low,cost_per_percent_high,busy_s_mean\n"),
		.sweep = config_sweep_find(config_study(config)->x),
		.busy_s = g_array_new(FALSE, FALSE, sizeof(double)),
	};
	bool good;

	for (size_t q = 0; q < QUANTITIES; q++)
		tables.values[q] = g_array_new(FALSE, FALSE, sizeof(double));
	good = study_store_each_of(store, policies, add_row, &tables, error);
	end_cell(&tables);
	good = good && g_file_set_contents(path, tables.text->str, (gssize)tables.text->len, error);
	g_string_free(tables.text, TRUE);
	g_array_unref(tables.busy_s);
	for (size_t q = 0; q < QUANTITIES; q++)
		g_array_unref(tables.values[q]);
	return good;
}
