/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/csv.h"
#include "controller/report/listing.h"
#include "controller/study/study.h"
#include "controller/study/study_cells.h"
#include "controller/study/study_pruning.h"
#include "controller/study/study_sharing.h"

/* The metrics of summary.csv; `interval`: with the bounds of the mean's interval. */
static const struct {
	const char *name;
	bool interval;
} metrics[] = {
	{"utility", true},		{"percent", true},	   {"energy_j", true},
	{"tasks_completed", false}, {"tasks_dropped", false}, {"completed_percent", true},
};

/* The columns of results.csv: those of all studies, then those of shared hosts, or of queues. */
static const char *const row_columns[] = {
	"policy",      "size",	   "limit_j", "trial",	       "utility",
	"utility_max", "energy_j", "ended_by", "ended_s",      "tasks_arrived",
	"tasks_completed", "tasks_failed", "tasks_dropped", "value", NULL,
};
static const char *const sharing_columns[] = {
	"stretch_max", "stretch_mean",	"span_s",	"pauses",
	"migrations",  "paused_memory", "moved_memory", NULL,
};
static const char *const pruning_columns[] = {
	"tasks_counted", "tasks_on_time", "type_variance", "busy_s", "cost", NULL,
};
static const char *const no_columns[] = {NULL};

/* The tables under construction. */
struct tables {
	GString *results;
	GPtrArray *cells; /* study_cells.h */
	const struct config_sweep *sweep; /* NULL: none */
	const char *const *more_columns;
};

/* The value of the sweep, if there is one, as a word if it is one. */
static void put_value(GString *csv, const struct config_sweep *sweep, double value)
{
	if (sweep && config_sweep_words(sweep))
		csv_text(csv, config_sweep_words(sweep)[(gsize)value]);
	else
		study_csv_number(csv, sweep ? value : (double)NAN);
}

static void put_fields(const struct tables *tables, const char *const *columns,
		       const struct study_row *row)
{
	for (; *columns; columns++)
		if (g_str_equal(*columns, "value"))
			put_value(tables->results, tables->sweep, row->point.value);
		else
			listing_csv_field(tables->results,
					  record_field_find(&study_row_record, *columns), row);
}

static void add_row(const struct study_row *row, void *data)
{
	struct tables *tables = data;
	const struct engine_result *result = &row->result;
	const double values[G_N_ELEMENTS(metrics)] = {
		result->utility,
		result->utility_max > 0 ? 100 * result->utility / result->utility_max : STUDY_NONE,
		result->energy_j,
		result->tasks_completed,
		result->tasks_dropped,
		100.0 * result->tasks_completed / result->tasks_arrived,
	};

	study_cells_add(tables->cells, row, row->limit_j, values, G_N_ELEMENTS(values));
	put_fields(tables, row_columns, row);
	put_fields(tables, tables->more_columns, row);
	csv_end(tables->results);
}

static char *summary_text(const GPtrArray *cells, const struct config_sweep *sweep)
{
	GString *csv = g_string_new("policy,size,limit_j,trials");

	for (gsize m = 0; m < G_N_ELEMENTS(metrics); m++) {
		g_string_append_printf(csv, ",%s_mean", metrics[m].name);
		if (metrics[m].interval)
			g_string_append_printf(csv, ",%s_low,%s_high", metrics[m].name,
					       metrics[m].name);
	}
	g_string_append(csv, ",value\n");
	for (guint i = 0; i < cells->len; i++) {
		const struct study_cell *cell = cells->pdata[i];

		csv_text(csv, cell->policy);
		study_csv_number(csv, cell->point.size);
		study_csv_number(csv, cell->limit_j);
		csv_integer(csv, cell->runs);
		for (gsize m = 0; m < G_N_ELEMENTS(metrics); m++)
			if (metrics[m].interval)
				study_csv_interval(csv, cell->values[m]);
			else
				study_csv_mean(csv, cell->values[m]);
		put_value(csv, sweep, cell->point.value);
		csv_end(csv);
	}
	return g_string_free(csv, FALSE);
}

static void put_titles(GString *csv, const char *const *columns)
{
	for (; *columns; columns++)
		csv_text(csv, *columns);
}

bool study_write_tables(struct study_store *store, const struct config *config,
			const char *const *policies, const char *dir, GError **error)
{
	const bool shares = study_shares(config);
	const bool prunes = study_prunes(config);
	g_autoptr(GString) results = g_string_new(NULL);
	g_autoptr(GPtrArray) cells = study_cells_new();
	g_autofree char *summary = NULL;
	struct tables tables = {
		.results = results,
		.cells = cells,
		.sweep = config_sweep_find(config_study(config)->x),
		.more_columns = shares ? sharing_columns : prunes ? pruning_columns : no_columns,
	};

	put_titles(results, row_columns);
	put_titles(results, tables.more_columns);
	csv_end(results);
	if (!study_store_each_of(store, config, policies, add_row, &tables, error))
		return false;
	summary = summary_text(cells, tables.sweep);
	return study_write_file(dir, "results.csv", results->str, error) &&
	       study_write_file(dir, "summary.csv", summary, error) &&
	       (!shares || study_write_sharing(store, config, policies, dir, error)) &&
	       (!prunes || study_write_pruning(store, config, policies, dir, error));
}

static void note_policy(const struct study_row *row, void *data)
{
	GPtrArray *names = data;

	if (!g_ptr_array_find_with_equal_func(names, row->policy, g_str_equal, NULL))
		g_ptr_array_add(names, g_strdup(row->policy));
}

char **study_stored_policies(struct study_store *store, const struct config *config, GError **error)
{
	const struct config_experiment *experiment = config->experiment;
	g_autoptr(GPtrArray) stored = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();
	guint at;

	if (!study_store_each(store, note_policy, stored, error))
		return NULL;
	for (uint32_t i = 0; i < experiment->policies_count; i++)
		if (g_ptr_array_find_with_equal_func(stored, experiment->policies[i], g_str_equal,
						     &at)) {
			g_strv_builder_add(names, experiment->policies[i]);
			g_ptr_array_remove_index(stored, at);
		}
	for (guint i = 0; i < stored->len; i++)
		g_strv_builder_add(names, stored->pdata[i]);
	return g_strv_builder_end(names);
}
