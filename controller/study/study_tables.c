/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/config/config_study.h"
#include "controller/config/config_sweep.h"
#include "controller/report/stats.h"
#include "controller/study/study.h"
#include "controller/study/study_pruning.h"
#include "controller/study/study_sharing.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

/* The tables under construction. */
struct tables {
	GString *results;
	GString *summary;
	char *policy;      /* of the present cell; NULL: none yet */
	struct study_point point;
	double limit_j;
	GArray *utility;   /* double, a value per trial */
	GArray *percent;
	GArray *energy_j;
	GArray *completed;
	GArray *dropped;
	GArray *completed_percent; /* in percent of the tasks that arrived */
	const struct config_sweep *sweep; /* NULL: none */
	bool shares;       /* hosts are shared */
	bool prunes;       /* tasks have deadlines and queues */
};

/* A number with all its digits; empty where it is not finite. */
static void put_number(GString *text, double value)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	g_string_append_c(text, ',');
	if (isfinite(value))
		g_string_append(text, g_ascii_dtostr(number, sizeof(number), value));
}

static void put_interval(GString *text, const GArray *values)
{
	const struct stats_interval interval = stats_t_interval(
		(const double *)(const void *)values->data, values->len, LEVEL);

	put_number(text, interval.value);
	put_number(text, interval.low);
	put_number(text, interval.high);
}

/* The value of the sweep, if there is one, as a word if it is one. */
static void put_value(GString *text, const struct tables *tables, double value)
{
	if (tables->sweep && !config_sweep_words(tables->sweep))
		put_number(text, value);
	else
		g_string_append_printf(
			text, ",%s",
			tables->sweep ? config_sweep_words(tables->sweep)[(gsize)value] : "");
}

static void put_mean(GString *text, const GArray *values)
{
	put_number(text, stats_mean((const double *)(const void *)values->data, values->len));
}

/* Writes the sums of the cell and empties it. */
static void end_cell(struct tables *tables)
{
	GArray *const values[] = { tables->utility, tables->percent, tables->energy_j,
				   tables->completed, tables->dropped,
				   tables->completed_percent };

	if (!tables->policy)
		return;
	g_string_append_printf(tables->summary, "%s", tables->policy);
	put_number(tables->summary, tables->point.size);
	put_number(tables->summary, tables->limit_j);
	g_string_append_printf(tables->summary, ",%u", tables->utility->len);
	put_interval(tables->summary, tables->utility);
	put_interval(tables->summary, tables->percent);
	put_interval(tables->summary, tables->energy_j);
	put_mean(tables->summary, tables->completed);
	put_mean(tables->summary, tables->dropped);
	put_interval(tables->summary, tables->completed_percent);
	put_value(tables->summary, tables, tables->point.value);
	g_string_append_c(tables->summary, '\n');
	for (size_t i = 0; i < G_N_ELEMENTS(values); i++)
		g_array_set_size(values[i], 0);
	g_clear_pointer(&tables->policy, g_free);
}

static void append(GArray *values, double value)
{
	g_array_append_val(values, value);
}

/* The columns of shared hosts. */
static void put_sharing(GString *text, const struct engine_result *result)
{
	put_number(text, result->stretch_max);
	put_number(text, result->stretch_mean);
	put_number(text, result->span_s);
	g_string_append_printf(text, ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT, result->pauses,
			       result->migrations);
	put_number(text, result->paused_memory);
	put_number(text, result->moved_memory);
}

/* The columns of queueing clusters. */
static void put_pruning(GString *text, const struct engine_result *result)
{
	g_string_append_printf(text, ",%u,%u", result->tasks_counted, result->tasks_on_time);
	put_number(text, result->type_variance);
	put_number(text, result->busy_s);
	put_number(text, result->cost);
}

static void add_row(const struct study_row *row, void *data)
{
	struct tables *tables = data;
	const struct engine_result *result = &row->result;

	if (!tables->policy || !g_str_equal(tables->policy, row->policy) ||
	    tables->limit_j != row->limit_j || tables->point.size != row->point.size ||
	    tables->point.value != row->point.value) {
		end_cell(tables);
		tables->policy = g_strdup(row->policy);
		tables->point = row->point;
		tables->limit_j = row->limit_j;
	}
	append(tables->utility, result->utility);
	if (result->utility_max > 0)
		append(tables->percent, 100 * result->utility / result->utility_max);
	append(tables->energy_j, result->energy_j);
	append(tables->completed, result->tasks_completed);
	append(tables->dropped, result->tasks_dropped);
	append(tables->completed_percent, 100.0 * result->tasks_completed / result->tasks_arrived);
	g_string_append_printf(tables->results, "%s", row->policy);
	put_number(tables->results, row->point.size);
	put_number(tables->results, row->limit_j);
	g_string_append_printf(tables->results, ",%u", row->trial);
	put_number(tables->results, result->utility);
	put_number(tables->results, result->utility_max);
	put_number(tables->results, result->energy_j);
	g_string_append_printf(tables->results, ",%s", engine_end_name(result->ended_by));
	put_number(tables->results, result->ended_s);
	g_string_append_printf(tables->results, ",%u,%u,%u,%u", result->tasks_arrived,
			       result->tasks_completed, result->tasks_failed,
			       result->tasks_dropped);
	put_value(tables->results, tables, row->point.value);
	if (tables->shares)
		put_sharing(tables->results, result);
	if (tables->prunes)
		put_pruning(tables->results, result);
	g_string_append_c(tables->results, '\n');
}

static bool write_file(const char *dir, const char *name, const GString *text, GError **error)
{
	g_autofree char *path = g_build_filename(dir, name, NULL);

	return g_file_set_contents(path, text->str, (gssize)text->len, error);
}

bool study_write_tables(struct study_store *store, const struct config *config,
			const char *const *policies, const char *dir, GError **error)
{
	struct tables tables = {
		.results = g_string_new(
			"policy,size,limit_j,trial,utility,utility_max,energy_j,ended_by,"
			"ended_s,tasks_arrived,tasks_completed,tasks_failed,"
			"tasks_dropped,value"),
		.summary = g_string_new(
			"policy,size,limit_j,trials,utility_mean,utility_low,utility_high,"
			"percent_mean,percent_low,percent_high,energy_j_mean,"
			"energy_j_low,energy_j_high,tasks_completed_mean,"
			"tasks_dropped_mean,completed_percent_mean,"
			"completed_percent_low,completed_percent_high,value\n"),
		.utility = g_array_new(FALSE, FALSE, sizeof(double)),
		.percent = g_array_new(FALSE, FALSE, sizeof(double)),
		.energy_j = g_array_new(FALSE, FALSE, sizeof(double)),
		.completed = g_array_new(FALSE, FALSE, sizeof(double)),
		.dropped = g_array_new(FALSE, FALSE, sizeof(double)),
		.completed_percent = g_array_new(FALSE, FALSE, sizeof(double)),
		.sweep = config_sweep_find(config_study(config)->x),
		.shares = study_shares(config),
		.prunes = study_prunes(config),
	};
	bool good;

	g_string_append(tables.results, tables.shares ? ",stretch_max,stretch_mean,span_s,pauses,"
							"migrations,paused_memory,moved_memory\n"
					: tables.prunes
						? ",tasks_counted,tasks_on_time,type_variance,"
						  "busy_s,cost\n"
						: "\n");
	good = study_store_each_of(store, policies, add_row, &tables, error);

	end_cell(&tables);
	good = good && write_file(dir, "results.csv", tables.results, error) &&
	       write_file(dir, "summary.csv", tables.summary, error) &&
	       (!tables.shares || study_write_sharing(store, config, policies, dir, error)) &&
	       (!tables.prunes || study_write_pruning(store, config, policies, dir, error));
	g_string_free(tables.results, TRUE);
	g_string_free(tables.summary, TRUE);
	g_array_unref(tables.utility);
	g_array_unref(tables.percent);
	g_array_unref(tables.energy_j);
	g_array_unref(tables.completed);
	g_array_unref(tables.dropped);
	g_array_unref(tables.completed_percent);
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
