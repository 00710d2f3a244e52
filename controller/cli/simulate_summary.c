/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/simulate_summary.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/config/config_environment.h"
#include "controller/report/chart.h"
#include "controller/report/table.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

/* The policy that the paper compares with; its run without a limit is the paper's 100 %. */
static int find_reference(const struct experiment *experiment)
{
	for (uint32_t i = 0; i < experiment->policies_count; i++)
		if (strcmp(experiment->policies[i].ops->name, "max-upr") == 0)
			return (int)i;
	return -1;
}

/* What is averaged. */
static double result_utility(const struct engine_result *result)
{
	return result->utility;
}

static double result_energy_j(const struct engine_result *result)
{
	return result->energy_j;
}

static double result_ended_s(const struct engine_result *result)
{
	return result->ended_s;
}

static double result_arrived(const struct engine_result *result)
{
	return result->tasks_arrived;
}

static double result_completed(const struct engine_result *result)
{
	return result->tasks_completed;
}

static double result_dropped(const struct engine_result *result)
{
	return result->tasks_dropped;
}

static double result_failed(const struct engine_result *result)
{
	return result->tasks_failed;
}

static double result_stretch_max(const struct engine_result *result)
{
	return result->stretch_max > 0 ? result->stretch_max : (double)NAN;
}

static double result_stretch_mean(const struct engine_result *result)
{
	return result->stretch_max > 0 ? result->stretch_mean : (double)NAN;
}

static double result_pauses(const struct engine_result *result)
{
	return (double)result->pauses / result->tasks_arrived;
}

static double result_migrations(const struct engine_result *result)
{
	return (double)result->migrations / result->tasks_arrived;
}

/* Whether hosts are shared, so that the columns about stretch count. */
static bool shares(const struct simulate_summary *summary)
{
	const struct experiment *experiment = summary->trials->experiment;
	const struct config_environment *environment = config_environment(experiment->config);

	return experiment->shared || (environment && environment->sharing);
}

/* Whether tasks have deadlines and queues, so that the columns about robustness count. */
static bool prunes(const struct simulate_summary *summary)
{
	return study_prunes(summary->trials->experiment->config);
}

typedef double (*result_f)(const struct engine_result *result);

/* Collects the values of one cell over the trials into `ret_values`. */
static void collect(const struct trials *trials, const struct engine_result *results,
		    const struct simulate_cell *cell, result_f value, double *ret_values)
{
	for (uint32_t i = 0; i < trials->trials; i++)
		ret_values[i] = value(trials_result(trials, results, i, cell->policy, cell->limit));
}

/* The ratio to the reference, trial by trial; a trial whose reference is 0 is left out. */
static struct stats_interval ratio(const struct trials *trials,
				   const struct engine_result *results,
				   const struct simulate_cell *cell, uint32_t reference,
				   result_f value, double *values)
{
	size_t count = 0;

	for (uint32_t i = 0; i < trials->trials; i++) {
		const double base =
			value(trials_result(trials, results, i, reference, cell->limit));

		if (base > 0)
			values[count++] = value(trials_result(trials, results, i, cell->policy,
							      cell->limit)) /
					  base;
	}
	return stats_t_interval(values, count, LEVEL);
}

static double mean(const struct trials *trials, const struct engine_result *results,
		   const struct simulate_cell *cell, result_f value, double *values)
{
	collect(trials, results, cell, value, values);
	return stats_mean(values, trials->trials);
}

/* The percentage of the highest possible utility in each trial; none where that is unknown. */
static struct stats_interval percent(const struct trials *trials,
				     const struct engine_result *results,
				     const struct simulate_cell *cell, double *values)
{
	size_t count = 0;

	for (uint32_t i = 0; i < trials->trials; i++) {
		const struct engine_result *result =
			trials_result(trials, results, i, cell->policy, cell->limit);

		if (result->utility_max > 0)
			values[count++] = 100 * result->utility / result->utility_max;
	}
	return stats_t_interval(values, count, LEVEL);
}

/* The known values of a metric of tasks with deadlines, over the trials. */
static struct stats_interval pruning(const struct trials *trials,
				     const struct engine_result *results,
				     const struct simulate_cell *cell, enum study_pruning quantity,
				     double *values)
{
	size_t count = 0;

	for (uint32_t i = 0; i < trials->trials; i++) {
		const double value = study_pruning_value(
			trials_result(trials, results, i, cell->policy, cell->limit), quantity);

		if (isfinite(value))
			values[count++] = value;
	}
	return stats_t_interval(values, count, LEVEL);
}

static void fill_cell(const struct simulate_summary *summary, const struct engine_result *results,
		      struct simulate_cell *cell, double *values)
{
	const struct trials *trials = summary->trials;
	const uint32_t n = trials->trials;

	cell->utility_mean = mean(trials, results, cell, result_utility, values);
	cell->utility_sd = stats_sd(values, n);
	cell->energy_j_mean = mean(trials, results, cell, result_energy_j, values);
	cell->energy_j_sd = stats_sd(values, n);
	cell->ended_s_mean = mean(trials, results, cell, result_ended_s, values);
	cell->arrived_mean = mean(trials, results, cell, result_arrived, values);
	cell->completed_mean = mean(trials, results, cell, result_completed, values);
	cell->dropped_mean = mean(trials, results, cell, result_dropped, values);
	cell->failed_mean = mean(trials, results, cell, result_failed, values);
	cell->stretch_max_mean = mean(trials, results, cell, result_stretch_max, values);
	cell->stretch_mean_mean = mean(trials, results, cell, result_stretch_mean, values);
	cell->pauses_mean = mean(trials, results, cell, result_pauses, values);
	cell->migrations_mean = mean(trials, results, cell, result_migrations, values);
	cell->percent = percent(trials, results, cell, values);
	for (int q = 0; q <= STUDY_PRUNING_COST; q++)
		cell->pruning[q] =
			pruning(trials, results, cell, (enum study_pruning)q, values);
	for (uint32_t i = 0; i < n; i++)
		cell->ended[trials_result(trials, results, i, cell->policy, cell->limit)
				    ->ended_by]++;
	if (summary->reference < 0) {
		cell->utility_ratio = stats_t_interval(values, 0, LEVEL);
		cell->energy_ratio = cell->utility_ratio;
		return;
	}
	cell->utility_ratio = ratio(trials, results, cell, (uint32_t)summary->reference,
				    result_utility, values);
	cell->energy_ratio = ratio(trials, results, cell, (uint32_t)summary->reference,
				   result_energy_j, values);
}

struct simulate_summary *simulate_summary_new(const struct trials *trials, const double *limits,
					      double budget_j, const struct engine_result *results)
{
	struct simulate_summary *summary = g_new0(struct simulate_summary, 1);
	const struct experiment *experiment = trials->experiment;
	g_autofree double *values = g_new(double, trials->trials);

	summary->trials = trials;
	summary->limits = limits;
	summary->seed = trials->seed ? trials->seed : experiment->config->workload->seed;
	summary->budget_j = budget_j;
	summary->reference = find_reference(experiment);
	summary->cells_count = trials->limits_count * experiment->policies_count;
	summary->cells = g_new0(struct simulate_cell, summary->cells_count);
	for (uint32_t i = 0; i < summary->cells_count; i++) {
		summary->cells[i].limit = i / experiment->policies_count;
		summary->cells[i].policy = i % experiment->policies_count;
		fill_cell(summary, results, &summary->cells[i], values);
	}
	return summary;
}

void simulate_summary_free(struct simulate_summary *summary)
{
	if (!summary)
		return;
	g_free(summary->cells);
	g_free(summary);
}

static json_t *interval_json(const struct stats_interval *interval)
{
	return json_pack("{s:o, s:o, s:o}", "mean", json_number_or_null(interval->value), "low",
			 json_number_or_null(interval->low), "high", json_number_or_null(interval->high));
}

static const struct policy *cell_policy(const struct simulate_summary *summary,
					const struct simulate_cell *cell)
{
	return &summary->trials->experiment->policies[cell->policy];
}

static json_t *ended_json(const struct simulate_cell *cell)
{
	json_t *object = json_object();

	for (int end = ENGINE_END_LIMIT; end <= ENGINE_END_ABORTED; end++)
		json_object_set_new(object, engine_end_name((enum engine_end)end),
				    json_integer(cell->ended[end]));
	return object;
}

static const char *const pruning_keys[] = { "robustness_percent", "type_variance_percent",
					    "cost_per_percent" };

static json_t *cell_json(const struct simulate_summary *summary, const struct simulate_cell *cell)
{
	const struct trials *trials = summary->trials;
	json_t *object = json_pack(
		"{s:s, s:f, s:f, s:i, s:o}", "policy", cell_policy(summary, cell)->name, "limit",
		summary->limits[cell->limit], "limit_j", trials->limits_j[cell->limit], "trials",
		(int)trials->trials, "ended_by", ended_json(cell));
	const struct {
		const char *key;
		double value;
	} numbers[] = {
		{ "utility_mean", cell->utility_mean },
		{ "utility_sd", cell->utility_sd },
		{ "energy_j_mean", cell->energy_j_mean },
		{ "energy_j_sd", cell->energy_j_sd },
		{ "ended_s_mean", cell->ended_s_mean },
		{ "tasks_arrived_mean", cell->arrived_mean },
		{ "tasks_completed_mean", cell->completed_mean },
		{ "tasks_dropped_mean", cell->dropped_mean },
		{ "tasks_failed_mean", cell->failed_mean },
	};

	if (shares(summary)) {
		json_object_set_new(object, "stretch_max_mean", json_number_or_null(cell->stretch_max_mean));
		json_object_set_new(object, "stretch_mean_mean", json_number_or_null(cell->stretch_mean_mean));
		json_object_set_new(object, "pauses_per_task", json_number_or_null(cell->pauses_mean));
		json_object_set_new(object, "migrations_per_task", json_number_or_null(cell->migrations_mean));
	}
	for (int q = 0; prunes(summary) && q <= STUDY_PRUNING_COST; q++)
		json_object_set_new(object, pruning_keys[q], interval_json(&cell->pruning[q]));
	json_object_set_new(object, "seed", json_integer((json_int_t)summary->seed));
	for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++)
		json_object_set_new(object, numbers[i].key, json_number_or_null(numbers[i].value));
	if (config_environment(trials->experiment->config))
		json_object_set_new(object, "utility_percent", interval_json(&cell->percent));
	if (summary->reference < 0)
		return object;
	json_object_set_new(
		object, "ratio_to",
		json_string(trials->experiment->policies[summary->reference].name));
	json_object_set_new(object, "utility_ratio", interval_json(&cell->utility_ratio));
	json_object_set_new(object, "energy_ratio", interval_json(&cell->energy_ratio));
	return object;
}

json_t *simulate_summary_json(const struct simulate_summary *summary)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < summary->cells_count; i++)
		json_array_append_new(list, cell_json(summary, &summary->cells[i]));
	return list;
}

/* "time 3, limit 197" */
static char *ended_text(const struct simulate_cell *cell)
{
	GString *text = g_string_new(NULL);

	for (int end = ENGINE_END_LIMIT; end <= ENGINE_END_ABORTED; end++)
		if (cell->ended[end] > 0)
			g_string_append_printf(text, "%s%s %u", text->len ? ", " : "",
					       engine_end_name((enum engine_end)end),
					       cell->ended[end]);
	return g_string_free(text, FALSE);
}

static void ratio_cell(struct table *table, const struct stats_interval *interval)
{
	if (isfinite(interval->low))
		table_textf(table, "%.3f +- %.3f", interval->value,
			    (interval->high - interval->low) / 2);
	else
		table_number(table, interval->value, 3);
}

/* How the table shows energies: in the unit of the largest, with at least four digits of it. */
struct energy_format {
	const char *unit;
	double scale;
	unsigned decimals;
};

static struct energy_format find_energy_format(const struct simulate_summary *summary)
{
	struct energy_format format;
	double most_j = 0;

	for (uint32_t i = 0; i < summary->cells_count; i++)
		most_j = fmax(most_j, summary->cells[i].energy_j_mean);
	format.unit = chart_energy_unit(most_j, &format.scale);
	most_j *= format.scale;
	format.decimals = most_j >= 100 ? 1 : most_j >= 10 ? 2 : 3;
	return format;
}

static void print_heading(const struct simulate_summary *summary, FILE *file)
{
	const struct trials *trials = summary->trials;
	const struct sched_system *system = trials->experiment->system;
	g_autofree char *budget = chart_energy_text(summary->budget_j);
	bool ordered = false;

	fprintf(file,
		"%s, simulated: means over %u trial%s, a workload each (seed %" G_GUINT64_FORMAT
		"); 100 %% is %s of dynamic energy\n",
		trials->experiment->config->name, trials->trials, trials->trials == 1 ? "" : "s",
		summary->seed, budget);
	for (uint32_t i = 0; i < trials->experiment->policies_count; i++)
		ordered |= trials->experiment->policies[i].ops->cluster_order;
	if (ordered) {
		fputs("clusters in the order that backfilling tries them:", file);
		for (uint32_t c = 0; c < system->clusters_count; c++)
			fprintf(file, " %s", system->clusters[c].name);
		fputc('\n', file);
	}
	if (summary->reference >= 0 && trials->trials > 1)
		fprintf(file, "ratios to %s, workload by workload, with 95 %% intervals\n",
			trials->experiment->policies[summary->reference].name);
}

/* The unit is appended to "energy". */
static const char *const columns[] = { "limit", "policy", "utility", "sd", "utility ratio",
				       "energy", "energy ratio", "arrived", "completed",
				       "dropped", "ended by" };

/* Inserted before the last column where hosts are shared. */
static const char *const sharing_columns[] = { "max stretch", "mean stretch", "pauses/task",
					       "migrations/task" };

static const char *const pruning_columns[] = { "on time %", "variance %", "cost/%" };

static void add_row(const struct simulate_summary *summary, const struct simulate_cell *cell,
		    const struct energy_format *energy, struct table *table)
{
	g_autofree char *ended = ended_text(cell);

	table_row(table);
	table_textf(table, "%g %%", 100 * summary->limits[cell->limit]);
	table_text(table, cell_policy(summary, cell)->name);
	table_number(table, cell->utility_mean, 2);
	table_number(table, cell->utility_sd, 2);
	if (config_environment(summary->trials->experiment->config))
		ratio_cell(table, &cell->percent);
	ratio_cell(table, &cell->utility_ratio);
	table_number(table, cell->energy_j_mean * energy->scale, energy->decimals);
	ratio_cell(table, &cell->energy_ratio);
	table_number(table, cell->arrived_mean, 1);
	table_number(table, cell->completed_mean, 1);
	table_number(table, cell->dropped_mean, 1);
	if (shares(summary)) {
		table_number(table, cell->stretch_max_mean, 2);
		table_number(table, cell->stretch_mean_mean, 2);
		table_number(table, cell->pauses_mean, 2);
		table_number(table, cell->migrations_mean, 2);
	}
	for (int q = 0; prunes(summary) && q <= STUDY_PRUNING_COST; q++)
		ratio_cell(table, &cell->pruning[q]);
	table_text(table, ended);
}

void simulate_summary_print(const struct simulate_summary *summary, FILE *file)
{
	const struct energy_format energy = find_energy_format(summary);
	g_autofree char *energy_title = g_strconcat("energy ", energy.unit, NULL);
	g_autoptr(table_t) table = table_new();

	print_heading(summary, file);
	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
		if (i + 1 == G_N_ELEMENTS(columns) && shares(summary))
			for (size_t j = 0; j < G_N_ELEMENTS(sharing_columns); j++)
				table_column(table, sharing_columns[j], TABLE_RIGHT);
		for (size_t j = 0; i + 1 == G_N_ELEMENTS(columns) && prunes(summary) &&
				   j < G_N_ELEMENTS(pruning_columns); j++)
			table_column(table, pruning_columns[j], TABLE_RIGHT);
		if (i == 4 && config_environment(summary->trials->experiment->config))
			table_column(table, "% of most", TABLE_RIGHT);
		table_column(table, g_str_equal(columns[i], "energy") ? energy_title : columns[i],
			     i == 1 || i + 1 == G_N_ELEMENTS(columns) ? TABLE_LEFT : TABLE_RIGHT);
	}
	for (uint32_t i = 0; i < summary->cells_count; i++) {
		add_row(summary, &summary->cells[i], &energy, table);
		if (i + 1 == summary->cells_count ||
		    summary->cells[i + 1].limit != summary->cells[i].limit)
			table_rule(table);
	}
	table_print(table, 0, file);
}
