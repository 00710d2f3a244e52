/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/csv.h"
#include "controller/report/listing.h"
#include "controller/report/stats.h"
#include "controller/study/study.h"
#include "controller/study/study_metrics.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

/* The columns of a table of cells: what a cell is of, or statistics of a metric over its trials. */
enum field {
	POLICY,
	SIZE,
	VALUE, /* of the sweep */
	LIMIT,
	TRIALS, /* the number of trials that have the metric */
	MEAN,
	INTERVAL, /* the mean and the bounds of its interval */
	/* the same, of a metric that all trials have: a mean over some could not be compared */
	WHOLE,
	SPREAD, /* mean, standard deviation and largest value */
};

/* What follows the name of a metric in the titles of its columns. */
static const char *const suffixes[][3] = {
	[MEAN] = {"_mean"},
	[INTERVAL] = {"_mean", "_low", "_high"},
	[WHOLE] = {"_mean", "_low", "_high"},
	[SPREAD] = {"_mean", "_sd", "_max"},
};

struct column {
	const char *name;
	enum field field;
	enum study_metric metric;
};

static const struct column summary_columns[] = {
	{"policy", POLICY},
	{"size", SIZE},
	{"limit_j", LIMIT},
	{"trials", TRIALS, STUDY_UTILITY},
	{"utility", INTERVAL, STUDY_UTILITY},
	{"percent", INTERVAL, STUDY_UTILITY_PERCENT},
	{"energy_j", INTERVAL, STUDY_ENERGY_J},
	{"tasks_completed", MEAN, STUDY_COMPLETED},
	{"tasks_dropped", MEAN, STUDY_DROPPED},
	{"completed_percent", INTERVAL, STUDY_COMPLETED_PERCENT},
	{"value", VALUE},
	{NULL},
};

/* A run in which a job did not end has none of these. */
static const struct column sharing_columns[] = {
	{"policy", POLICY},
	{"size", SIZE},
	{"value", VALUE},
	{"trials", TRIALS, STUDY_STRETCH_MAX},
	{"degradation", SPREAD, STUDY_DEGRADATION},
	{"stretch_max", SPREAD, STUDY_STRETCH_MAX},
	{"stretch_mean", SPREAD, STUDY_STRETCH_MEAN},
	{"pauses_per_job", SPREAD, STUDY_PAUSES_PER_JOB},
	{"migrations_per_job", SPREAD, STUDY_MIGRATIONS_PER_JOB},
	{"pauses_per_hour", SPREAD, STUDY_PAUSES_PER_HOUR},
	{"migrations_per_hour", SPREAD, STUDY_MIGRATIONS_PER_HOUR},
	{"pause_gib_s", SPREAD, STUDY_PAUSE_GIB_S},
	{"migration_gib_s", SPREAD, STUDY_MIGRATION_GIB_S},
	{NULL},
};

static const struct column pruning_columns[] = {
	{"policy", POLICY},
	{"value", VALUE},
	{"trials", TRIALS, STUDY_UTILITY},
	{"robustness_percent", WHOLE, STUDY_ROBUSTNESS},
	{"type_variance_percent", WHOLE, STUDY_VARIANCE},
	{"cost_per_percent", WHOLE, STUDY_COST},
	{"busy_s", MEAN, STUDY_BUSY_S},
	{NULL},
};

/* The columns of results.csv: those of all studies, then those of shared hosts, or of queues. */
static const char *const row_columns[] = {
	"policy",          "size",         "limit_j",       "trial",   "utility",
	"utility_max",     "energy_j",     "ended_by",      "ended_s", "tasks_arrived",
	"tasks_completed", "tasks_failed", "tasks_dropped", "value",   NULL,
};
static const char *const sharing_results[] = {
	"stretch_max", "stretch_mean",  "span_s",       "pauses",
	"migrations",  "paused_memory", "moved_memory", NULL,
};
static const char *const pruning_results[] = {
	"tasks_counted", "tasks_on_time", "type_variance", "busy_s", "cost", NULL,
};
static const char *const no_results[] = {NULL};

/* The extent of a cell: a policy at a point under a limit, at a point, or over all points. */
enum extent { OF_LIMIT, OF_POINT, OF_POLICY, EXTENTS };

struct cell {
	enum extent extent;
	char *policy;
	struct study_point point;
	double limit_j;
	struct study_values values;
};

/* The tables under construction. */
struct tables {
	GString *results;
	GPtrArray *cells[EXTENTS]; /* struct cell, in the order of the rows; NULL: not needed */
	const struct config_sweep *sweep; /* NULL: none */
	const char *const *more_columns;
	double host_gib;
};

static void cell_free(gpointer data)
{
	struct cell *cell = data;

	study_values_clear(&cell->values);
	g_free(cell->policy);
	g_free(cell);
}

/* The cell of a row, added if missing; rows of a cell are neighbours but for a policy's. */
static struct cell *find_cell(GPtrArray *cells, const struct study_row *row, enum extent extent)
{
	struct cell *cell;

	for (guint i = cells->len; i-- > 0;) {
		cell = cells->pdata[i];
		if (g_str_equal(cell->policy, row->policy) &&
		    (extent == OF_POLICY || (cell->point.size == row->point.size &&
					     cell->point.value == row->point.value)) &&
		    (extent != OF_LIMIT || cell->limit_j == row->limit_j))
			return cell;
	}
	cell = g_new(struct cell, 1);
	*cell = (struct cell){.extent = extent,
			      .policy = g_strdup(row->policy),
			      .point = row->point,
			      .limit_j = row->limit_j};
	study_values_init(&cell->values);
	g_ptr_array_add(cells, cell);
	return cell;
}

/* A number with all its digits; empty where it is not finite. */
static void put_number(GString *csv, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	csv_text(csv, isfinite(value) ? g_ascii_dtostr(number, sizeof(number), value) : NULL);
}

/* The value of the sweep, if there is one, as a word if it is one. */
static void put_value(GString *csv, const struct config_sweep *sweep, double value)
{
	if (sweep && config_sweep_words(sweep))
		csv_text(csv, config_sweep_words(sweep)[(gsize)value]);
	else
		put_number(csv, sweep ? value : (double)NAN);
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
	double metrics[STUDY_METRICS];

	study_metrics(&row->result, row->stretch_best, tables->host_gib, metrics);
	for (int e = 0; e < EXTENTS; e++)
		if (tables->cells[e])
			study_values_add(&find_cell(tables->cells[e], row, (enum extent)e)->values,
					 metrics);
	put_fields(tables, row_columns, row);
	put_fields(tables, tables->more_columns, row);
	csv_end(tables->results);
}

static void put_statistics(GString *csv, enum field field, const struct study_values *values,
			   enum study_metric metric)
{
	const GArray *list = values->of[metric];
	const double *numbers = stats_values(list);
	const bool known = field != WHOLE || list->len == values->of[STUDY_UTILITY]->len;
	const struct stats_interval interval =
		stats_t_interval(numbers, known ? list->len : 0, LEVEL);

	put_number(csv, field == INTERVAL || field == WHOLE ? interval.value
							    : stats_mean(numbers, list->len));
	if (field == SPREAD) {
		put_number(csv, stats_sd(numbers, list->len));
		put_number(csv, stats_quantile(numbers, list->len, 1));
	} else if (field != MEAN) {
		put_number(csv, interval.low);
		put_number(csv, interval.high);
	}
}

static void put_column(GString *csv, const struct column *column, const struct cell *cell,
		       const struct config_sweep *sweep)
{
	if (column->field == POLICY)
		csv_text(csv, cell->policy);
	else if (column->field == TRIALS)
		csv_integer(csv, cell->values.of[column->metric]->len);
	else if (column->field == LIMIT)
		put_number(csv, cell->limit_j);
	else if (column->field >= MEAN)
		put_statistics(csv, column->field, &cell->values, column->metric);
	else if (cell->extent == OF_POLICY)
		csv_text(csv, "all");
	else if (column->field == SIZE)
		put_number(csv, cell->point.size);
	else
		put_value(csv, sweep, cell->point.value);
}

static bool write_file(const char *dir, const char *name, const char *text, GError **error)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	return g_file_set_contents(path, text, -1, error);
}

/* Writes DIR/NAME with a row for each cell, of `all` only where they are fewer. */
static bool write_cells(const struct tables *tables, const char *dir, const char *name,
			const struct column *columns, const GPtrArray *cells, const GPtrArray *all,
			GError **error)
{
	g_autoptr(GString) csv = g_string_new(NULL);
	const guint rest = all && all->len < cells->len ? all->len : 0;

	for (const struct column *column = columns; column->name; column++) {
		if (column->field < MEAN)
			csv_text(csv, column->name);
		for (int i = 0; column->field >= MEAN && i < 3; i++)
			if (suffixes[column->field][i])
				g_string_append_printf(csv, ",%s%s", column->name,
						       suffixes[column->field][i]);
	}
	csv_end(csv);
	for (guint i = 0; i < cells->len + rest; i++) {
		const struct cell *cell =
			i < cells->len ? cells->pdata[i] : all->pdata[i - cells->len];

		for (const struct column *column = columns; column->name; column++)
			put_column(csv, column, cell, tables->sweep);
		csv_end(csv);
	}
	return write_file(dir, name, csv->str, error);
}

static void put_titles(GString *csv, const char *const *columns)
{
	for (; *columns; columns++)
		csv_text(csv, *columns);
}

static bool write_all(const struct tables *tables, bool shares, bool prunes, const char *dir,
		      GError **error)
{
	GPtrArray *const *cells = tables->cells;

	return write_file(dir, "results.csv", tables->results->str, error) &&
	       write_cells(tables, dir, "summary.csv", summary_columns, cells[OF_LIMIT], NULL,
			   error) &&
	       (!shares || write_cells(tables, dir, "sharing.csv", sharing_columns, cells[OF_POINT],
				       cells[OF_POLICY], error)) &&
	       (!prunes || write_cells(tables, dir, "pruning.csv", pruning_columns, cells[OF_POINT],
				       NULL, error));
}

bool study_write_tables(struct study_store *store, const struct config *config,
			const char *const *policies, const char *dir, GError **error)
{
	const bool shares = study_shares(config);
	const bool prunes = study_prunes(config);
	const bool needed[EXTENTS] = {true, shares || prunes, shares};
	g_autoptr(GString) results = g_string_new(NULL);
	struct tables tables = {
		.results = results,
		.sweep = config_sweep_find(config_study(config)->x),
		.more_columns = shares   ? sharing_results
				: prunes ? pruning_results
					 : no_results,
		.host_gib = (double)config->clusters[0].memory_mib / 1024,
	};
	bool good;

	for (int e = 0; e < EXTENTS; e++)
		tables.cells[e] = needed[e] ? g_ptr_array_new_with_free_func(cell_free) : NULL;
	put_titles(results, row_columns);
	put_titles(results, tables.more_columns);
	csv_end(results);
	good = study_store_each_of(store, config, policies, add_row, &tables, error) &&
	       write_all(&tables, shares, prunes, dir, error);
	for (int e = 0; e < EXTENTS; e++)
		g_clear_pointer(&tables.cells[e], g_ptr_array_unref);
	return good;
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
