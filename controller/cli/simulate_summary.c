/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/simulate_summary.h"

#include <math.h>

#include "common/json.h"
#include "controller/config/config_environment.h"
#include "controller/report/chart.h"
#include "controller/report/table.h"

/* Confidence level of the intervals. */
#define LEVEL 0.95

int simulate_summary_baseline(const struct experiment *experiment, const char *name)
{
	/* The run of policy_reference() is the paper's 100 %. */
	for (uint32_t i = 0; i < experiment->policies_count; i++)
		if (name ? g_str_equal(experiment->policies[i].name, name)
			 : experiment->policies[i].ops->reference)
			return (int)i;
	return -1;
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

/* Whether a quantity says something about the experiment. */
static bool is_shown(const struct simulate_summary *summary, enum simulate_quantity quantity)
{
	if (quantity >= SIMULATE_ROBUSTNESS)
		return prunes(summary);
	if (quantity >= SIMULATE_UTILITY_RATIO)
		return summary->baseline >= 0;
	if (quantity == SIMULATE_PERCENT)
		return config_environment(summary->trials->experiment->config);
	return quantity < SIMULATE_STRETCH_MAX || shares(summary);
}

/*
 * Measures a run, each quantity into its row of `n` values; not finite where it is unknown. `base`
 * is the baseline policy's run, or NULL; the ratio to a value of 0 is unknown.
 */
static void measure(const struct engine_result *result, const struct engine_result *base, size_t n,
		    double *ret_values)
{
	const double unknown = (double)NAN;
	const bool stretched = result->stretch_max > 0;
	double metrics[STUDY_METRICS];
	double values[SIMULATE_QUANTITIES] = {
		[SIMULATE_UTILITY] = result->utility,
		[SIMULATE_ENERGY_J] = result->energy_j,
		[SIMULATE_ENDED_S] = result->ended_s,
		[SIMULATE_ARRIVED] = result->tasks_arrived,
		[SIMULATE_COMPLETED] = result->tasks_completed,
		[SIMULATE_DROPPED] = result->tasks_dropped,
		[SIMULATE_FAILED] = result->tasks_failed,
		[SIMULATE_STRETCH_MAX] = stretched ? result->stretch_max : unknown,
		[SIMULATE_STRETCH_MEAN] = stretched ? result->stretch_mean : unknown,
		[SIMULATE_PAUSES] = (double)result->pauses / result->tasks_arrived,
		[SIMULATE_MIGRATIONS] = (double)result->migrations / result->tasks_arrived,
		[SIMULATE_PERCENT] = result->utility_max > 0
					     ? 100 * result->utility / result->utility_max
					     : unknown,
		[SIMULATE_UTILITY_RATIO] =
			base && base->utility > 0 ? result->utility / base->utility : unknown,
		[SIMULATE_ENERGY_RATIO] =
			base && base->energy_j > 0 ? result->energy_j / base->energy_j : unknown,
	};

	study_metrics(result, 0, 0, metrics);
	values[SIMULATE_ROBUSTNESS] = metrics[STUDY_ROBUSTNESS];
	values[SIMULATE_VARIANCE] = metrics[STUDY_VARIANCE];
	values[SIMULATE_COST] = metrics[STUDY_COST];
	for (int q = 0; q < SIMULATE_QUANTITIES; q++)
		ret_values[(size_t)q * n] = values[q];
}

/* The interval of the known ones of `n` values, whose order changes. */
static struct stats_interval interval_of_known(double *values, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			values[count++] = values[i];
	return stats_t_interval(values, count, LEVEL);
}

/* `values` has room for all quantities of all trials. */
static void fill_cell(const struct simulate_summary *summary, const struct engine_result *results,
		      struct simulate_cell *cell, double *values)
{
	const struct trials *trials = summary->trials;
	const size_t n = trials->trials;

	for (uint32_t i = 0; i < n; i++) {
		const struct engine_result *result =
			trials_result(trials, results, i, cell->policy, cell->limit);
		const struct engine_result *base =
			summary->baseline < 0
				? NULL
				: trials_result(trials, results, i, (uint32_t)summary->baseline,
						cell->limit);

		measure(result, base, n, values + i);
		cell->ended[result->ended_by]++;
	}
	for (size_t q = 0; q < SIMULATE_PERCENT; q++) {
		cell->mean[q] = stats_mean(values + q * n, n);
		cell->sd[q] = stats_sd(values + q * n, n);
	}
	for (size_t q = SIMULATE_PERCENT; q < SIMULATE_QUANTITIES; q++)
		cell->interval[q] = interval_of_known(values + q * n, n);
}

struct simulate_summary *simulate_summary_new(const struct trials *trials, const double *limits,
					      double budget_j, int baseline,
					      const struct engine_result *results)
{
	struct simulate_summary *summary = g_new0(struct simulate_summary, 1);
	const struct experiment *experiment = trials->experiment;
	g_autofree double *values = g_new(double, (gsize)SIMULATE_QUANTITIES * trials->trials);

	summary->trials = trials;
	summary->limits = limits;
	summary->seed = trials->seed ? trials->seed : experiment->config->workload->seed;
	summary->budget_j = budget_j;
	summary->baseline = baseline;
	summary->cells_count = trials->limits_count * experiment->policies_count;
	summary->cells = g_new0(struct simulate_cell, summary->cells_count);
	for (uint32_t i = 0; i < summary->cells_count; i++) {
		struct simulate_cell *cell = &summary->cells[i];

		cell->limit = i / experiment->policies_count;
		cell->policy = i % experiment->policies_count;
		fill_cell(summary, results, cell, values);
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
			 json_number_or_null(interval->low), "high",
			 json_number_or_null(interval->high));
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

/* How a quantity is shown. */
static const struct {
	const char *key;   /* in JSON */
	const char *title; /* of its column between others; NULL: it has none */
	int decimals;      /* of a mean */
} shown_as[SIMULATE_QUANTITIES] = {
	[SIMULATE_UTILITY] = {"utility_mean"},
	[SIMULATE_ENERGY_J] = {"energy_j_mean", "energy "},
	[SIMULATE_ENDED_S] = {"ended_s_mean"},
	[SIMULATE_ARRIVED] = {"tasks_arrived_mean", "arrived", 1},
	[SIMULATE_COMPLETED] = {"tasks_completed_mean", "completed", 1},
	[SIMULATE_DROPPED] = {"tasks_dropped_mean", "dropped", 1},
	[SIMULATE_FAILED] = {"tasks_failed_mean"},
	[SIMULATE_STRETCH_MAX] = {"stretch_max_mean", "max stretch", 2},
	[SIMULATE_STRETCH_MEAN] = {"stretch_mean_mean", "mean stretch", 2},
	[SIMULATE_PAUSES] = {"pauses_per_task", "pauses/task", 2},
	[SIMULATE_MIGRATIONS] = {"migrations_per_task", "migrations/task", 2},
	[SIMULATE_PERCENT] = {"utility_percent", "% of most"},
	[SIMULATE_UTILITY_RATIO] = {"utility_ratio", "utility ratio"},
	[SIMULATE_ENERGY_RATIO] = {"energy_ratio", "energy ratio"},
	[SIMULATE_ROBUSTNESS] = {"robustness_percent", "on time %"},
	[SIMULATE_VARIANCE] = {"type_variance_percent", "variance %"},
	[SIMULATE_COST] = {"cost_per_percent", "cost/%"},
};

static json_t *cell_json(const struct simulate_summary *summary, const struct simulate_cell *cell)
{
	const struct trials *trials = summary->trials;
	json_t *object =
		json_pack("{s:s, s:f, s:f, s:i, s:o}", "policy", cell_policy(summary, cell)->name,
			  "limit", summary->limits[cell->limit], "limit_j",
			  trials->limits_j[cell->limit], "trials", (int)trials->trials, "ended_by",
			  ended_json(cell));

	for (int q = 0; q < SIMULATE_QUANTITIES; q++)
		if (is_shown(summary, (enum simulate_quantity)q))
			json_object_set_new(object, shown_as[q].key,
					    q < SIMULATE_PERCENT
						    ? json_number_or_null(cell->mean[q])
						    : interval_json(&cell->interval[q]));
	json_object_set_new(object, "utility_sd", json_number_or_null(cell->sd[SIMULATE_UTILITY]));
	json_object_set_new(object, "energy_j_sd",
			    json_number_or_null(cell->sd[SIMULATE_ENERGY_J]));
	json_object_set_new(object, "seed", json_integer((json_int_t)summary->seed));
	if (summary->baseline >= 0)
		json_object_set_new(object, "ratio_to",
				    json_string(
					    trials->experiment->policies[summary->baseline].name));
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
		most_j = fmax(most_j, summary->cells[i].mean[SIMULATE_ENERGY_J]);
	format.unit = chart_energy_unit(most_j, &format.scale);
	most_j *= format.scale;
	format.decimals = most_j >= 100 ? 1 : most_j >= 10 ? 2 : 3;
	return format;
}

static void print_heading(const struct simulate_summary *summary, const char *heading, FILE *file)
{
	const struct trials *trials = summary->trials;
	const struct sched_system *system = trials->experiment->system;
	g_autofree char *budget = chart_energy_text(summary->budget_j);
	bool ordered = false;

	fputs(trials->experiment->config->name, file);
	if (heading)
		fprintf(file, ", %s", heading);
	else
		fprintf(file,
			", simulated: means over %u trial%s, a workload each (seed "
			"%" G_GUINT64_FORMAT ")",
			trials->trials, trials->trials == 1 ? "" : "s", summary->seed);
	fprintf(file, "; 100 %% is %s of dynamic energy\n", budget);
	for (uint32_t i = 0; i < trials->experiment->policies_count; i++) {
		const struct policy_planning *planning =
			trials->experiment->policies[i].ops->planning;

		ordered |= planning && planning->cluster_order;
	}
	if (ordered) {
		fputs("clusters in the order that backfilling tries them:", file);
		for (uint32_t c = 0; c < system->clusters_count; c++)
			fprintf(file, " %s", system->clusters[c].name);
		fputc('\n', file);
	}
	if (summary->baseline >= 0 && trials->trials > 1)
		fprintf(file, "ratios to %s, workload by workload, with 95 %% intervals\n",
			trials->experiment->policies[summary->baseline].name);
}

/* The columns between the standard deviation and what ended the runs. */
static const enum simulate_quantity columns[] = {
	SIMULATE_PERCENT,      SIMULATE_UTILITY_RATIO, SIMULATE_ENERGY_J,   SIMULATE_ENERGY_RATIO,
	SIMULATE_ARRIVED,      SIMULATE_COMPLETED,     SIMULATE_DROPPED,    SIMULATE_STRETCH_MAX,
	SIMULATE_STRETCH_MEAN, SIMULATE_PAUSES,        SIMULATE_MIGRATIONS, SIMULATE_ROBUSTNESS,
	SIMULATE_VARIANCE,     SIMULATE_COST,
};

/* Ratios have columns, with "-", also where no policy is the baseline. */
static bool has_column(const struct simulate_summary *summary, enum simulate_quantity quantity)
{
	return quantity == SIMULATE_UTILITY_RATIO || quantity == SIMULATE_ENERGY_RATIO ||
	       is_shown(summary, quantity);
}

static void add_row(const struct simulate_summary *summary, const struct simulate_cell *cell,
		    const struct energy_format *energy, struct table *table)
{
	g_autofree char *ended = ended_text(cell);

	table_row(table);
	table_textf(table, "%g %%", 100 * summary->limits[cell->limit]);
	table_text(table, cell_policy(summary, cell)->name);
	table_number(table, cell->mean[SIMULATE_UTILITY], 2);
	table_number(table, cell->sd[SIMULATE_UTILITY], 2);
	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
		const enum simulate_quantity q = columns[i];

		if (!has_column(summary, q))
			continue;
		if (q >= SIMULATE_PERCENT)
			ratio_cell(table, &cell->interval[q]);
		else if (q == SIMULATE_ENERGY_J)
			table_number(table, cell->mean[q] * energy->scale, energy->decimals);
		else
			table_number(table, cell->mean[q], shown_as[q].decimals);
	}
	table_text(table, ended);
}

void simulate_summary_print(const struct simulate_summary *summary, const char *heading, FILE *file)
{
	const struct energy_format energy = find_energy_format(summary);
	g_autoptr(table_t) table = table_with(">limit", "<policy", ">utility", ">sd", NULL);

	print_heading(summary, heading, file);
	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++) {
		g_autofree char *title =
			g_strconcat(shown_as[columns[i]].title,
				    columns[i] == SIMULATE_ENERGY_J ? energy.unit : NULL, NULL);

		if (has_column(summary, columns[i]))
			table_column(table, title, TABLE_RIGHT);
	}
	table_column(table, "ended by", TABLE_LEFT);
	for (uint32_t i = 0; i < summary->cells_count; i++) {
		add_row(summary, &summary->cells[i], &energy, table);
		if (i + 1 == summary->cells_count ||
		    summary->cells[i + 1].limit != summary->cells[i].limit)
			table_rule(table);
	}
	table_print(table, 0, file);
}
