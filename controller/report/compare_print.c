/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/report/compare.h"
#include "controller/report/table.h"

/* "max-upe - easy". */
static char *pair_name(const struct compare_pair *pair)
{
	return g_strdup_printf("%s - %s", pair->first, pair->second);
}

static void append_heading(GString *text, const struct summary *summary)
{
	g_autoptr(GPtrArray) lines = summary_heading(summary);

	for (guint i = 0; i < lines->len; i++)
		g_string_append_printf(text, "%s%s\n", i ? "  ! " : "", (char *)lines->pdata[i]);
}

static void append_table(GString *text, const char *title, const struct table *table)
{
	g_autofree char *body = table_format(table, 2);

	g_string_append_printf(text, "\n%s\n%s", title, body);
}

static void append_cells(GString *text, const struct compare *compare)
{
	static const char *const titles[] = {
		"limit %", "policy", "utility meas", "sd", "utility sim", "sd",
		"energy J meas", "sd", "energy J sim", "sd", "ended by meas", "ended by sim",
	};
	g_autoptr(table_t) table = table_new();
	guint policies = compare->measured->policies->len;

	for (gsize i = 0; i < G_N_ELEMENTS(titles); i++)
		table_column(table, titles[i], i == 1 || i >= 10 ? TABLE_LEFT : TABLE_RIGHT);
	for (guint i = 0; i < policies * compare->measured->limits->len; i++) {
		const struct summary_cell *a = &compare->measured->cells[i];
		const struct summary_cell *b =
			summary_cell(compare->simulated, a->policy, a->limit);
		g_autofree char *ended_a = summary_ended_by(a);
		g_autofree char *ended_b = b ? summary_ended_by(b) : NULL;

		if (i && i % policies == 0)
			table_rule(table);
		if (!a->runs || !b)
			continue;
		table_row(table);
		table_number(table, 100 * a->limit, 0);
		table_text(table, a->policy);
		table_number(table, a->utility_mean, 2);
		table_number(table, a->utility_sd, 2);
		table_number(table, b->utility_mean, 2);
		table_number(table, b->utility_sd, 2);
		table_number(table, a->energy_j_mean, 0);
		table_number(table, a->energy_j_sd, 0);
		table_number(table, b->energy_j_mean, 0);
		table_number(table, b->energy_j_sd, 0);
		table_text(table, ended_a);
		table_text(table, ended_b);
	}
	append_table(text, "Means per policy and limit (sd: standard deviation over repeats or trials)",
		     table);
}

static void put_difference(struct table *table, const struct compare_difference *difference)
{
	const struct stats_interval *interval = &difference->interval;

	table_number(table, interval->value, 2);
	if (isfinite(interval->low))
		table_textf(table, "%.2f .. %.2f", interval->low, interval->high);
	else
		table_text(table, NULL);
	table_text(table, compare_basis_name(difference->basis));
}

static void append_pairs(GString *text, const struct compare *compare)
{
	static const char *const titles[] = {
		"limit %", "pair",   "measured", "95 % interval", "from",
		"simulated", "95 % interval", "from", "order",
	};
	g_autoptr(table_t) table = table_new();
	double limit = NAN;

	for (gsize i = 0; i < G_N_ELEMENTS(titles); i++)
		table_column(table, titles[i],
			     i == 1 || i == 4 || i >= 7 ? TABLE_LEFT : TABLE_RIGHT);
	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);
		g_autofree char *name = pair_name(pair);

		if (pair->limit != limit)
			table_rule(table);
		limit = pair->limit;
		table_row(table);
		table_number(table, 100 * pair->limit, 0);
		table_text(table, name);
		put_difference(table, &pair->measured);
		put_difference(table, &pair->simulated);
		table_text(table, compare_order_name(pair->order));
	}
	append_table(text, "Differences of utility, pair by pair", table);
}

/* One line for each basis that occurs. */
static void append_bases(GString *text, const struct compare *compare)
{
	static const char *const notes[] = {
		[COMPARE_BASIS_NONE] = "none: too little to form an interval from",
		[COMPARE_BASIS_REPEATS] =
			"repeats: paired over repeats of one workload, Student's t",
		[COMPARE_BASIS_TRIALS] = "trials: paired over trials, a workload each, Student's t",
		[COMPARE_BASIS_SIMULATED] =
			"simulated repeats: one run cannot tell its own noise; it is that of repeats "
			"simulated with the\n    measured deviations of execution time and energy",
		[COMPARE_BASIS_TASKS] =
			"tasks: one run cannot tell its own noise; it is that of its tasks, by block "
			"bootstrap",
	};

	for (gsize basis = 0; basis < G_N_ELEMENTS(notes); basis++) {
		for (guint i = 0; i < compare->pairs->len; i++) {
			const struct compare_pair *pair =
				&g_array_index(compare->pairs, struct compare_pair, i);

			if (pair->measured.basis != basis && pair->simulated.basis != basis)
				continue;
			g_string_append_printf(text, "  from %s\n", notes[basis]);
			break;
		}
	}
}

static void append_ranks(GString *text, const struct compare *compare)
{
	g_autoptr(table_t) table = table_new();

	table_column(table, "limit %", TABLE_RIGHT);
	table_column(table, "policies", TABLE_RIGHT);
	table_column(table, "tau-b", TABLE_RIGHT);
	for (guint i = 0; i < compare->ranks->len; i++) {
		const struct compare_rank *rank =
			&g_array_index(compare->ranks, struct compare_rank, i);

		table_row(table);
		if (isnan(rank->limit))
			table_text(table, "all");
		else
			table_number(table, 100 * rank->limit, 0);
		table_integer(table, rank->policies);
		table_number(table, rank->tau_b, 3);
	}
	append_table(text, "Kendall's rank correlation of utilities, measured against simulated", table);
}

static void append_accuracies(GString *text, const struct compare *compare)
{
	g_autoptr(table_t) table = table_new();
	g_autofree char *profile = store_get_meta(compare->measured->store, "profile_host_load");

	table_column(table, "cluster", TABLE_LEFT);
	table_column(table, "tasks", TABLE_RIGHT);
	table_column(table, "median |measured/ETC - 1| %", TABLE_RIGHT);
	table_column(table, "median measured/ETC", TABLE_RIGHT);
	for (guint i = 0; i < compare->accuracies->len; i++) {
		const struct compare_accuracy *accuracy =
			&g_array_index(compare->accuracies, struct compare_accuracy, i);

		table_row(table);
		table_text(table, accuracy->cluster ? accuracy->cluster : "all");
		table_integer(table, accuracy->n);
		table_number(table, 100 * accuracy->median_error, 1);
		table_number(table, accuracy->median_ratio, 3);
	}
	append_table(text, "Execution times against their estimates, completed tasks of all measured runs",
		     table);
	if (isfinite(compare->measured->host_load))
		g_string_append_printf(text, "  this machine's load: %.2f busy cores during the runs",
				       compare->measured->host_load);
	if (isfinite(compare->measured->host_load) && profile)
		g_string_append_printf(text, ", %.2f while the estimates were measured",
				       g_ascii_strtod(profile, NULL));
	if (isfinite(compare->measured->host_load))
		g_string_append_c(text, '\n');
}

char *compare_sentence(const struct compare *compare)
{
	const struct compare_rank *all =
		&g_array_index(compare->ranks, struct compare_rank, compare->ranks->len - 1);
	GString *text = g_string_new(NULL);

	g_string_append_printf(text,
			       "%s: of %u pairs %u have the same order measured and simulated, %u "
			       "opposite orders, %u too noisy to tell",
			       compare_verdict_name(compare->verdict), compare->pairs->len,
			       compare->same, compare->opposite, compare->noisy);
	if (isfinite(all->tau_b))
		g_string_append_printf(text, "; Kendall's tau-b %.3f", all->tau_b);
	return g_string_free(text, FALSE);
}

char *compare_text(const struct compare *compare)
{
	GString *text = g_string_new(NULL);
	g_autofree char *sentence = compare_sentence(compare);

	append_heading(text, compare->measured);
	append_heading(text, compare->simulated);
	append_cells(text, compare);
	append_pairs(text, compare);
	append_bases(text, compare);
	append_ranks(text, compare);
	append_accuracies(text, compare);
	for (guint i = 0; i < compare->missing->len; i++)
		g_string_append_printf(text, "%snot compared: %s\n", i ? "" : "\n",
				       (char *)compare->missing->pdata[i]);
	g_string_append_printf(text, "\nVerdict: %s.\n", sentence);
	return g_string_free(text, FALSE);
}

static json_t *difference_json(const struct compare_difference *difference)
{
	const struct stats_interval *interval = &difference->interval;

	return json_pack("{s:o, s:o, s:o, s:s, s:I}", "utility_difference",
			 summary_json_number(interval->value), "low",
			 summary_json_number(interval->low), "high",
			 summary_json_number(interval->high), "from",
			 compare_basis_name(difference->basis), "n", (json_int_t)interval->n);
}

static json_t *pairs_json(const struct compare *compare)
{
	json_t *array = json_array();

	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		json_array_append_new(
			array, json_pack("{s:f, s:s, s:s, s:o, s:o, s:s}", "limit", pair->limit,
					 "first", pair->first, "second", pair->second, "measured",
					 difference_json(&pair->measured), "simulated",
					 difference_json(&pair->simulated), "order",
					 compare_order_name(pair->order)));
	}
	return array;
}

static json_t *ranks_json(const struct compare *compare)
{
	json_t *array = json_array();

	for (guint i = 0; i < compare->ranks->len; i++) {
		const struct compare_rank *rank =
			&g_array_index(compare->ranks, struct compare_rank, i);

		json_array_append_new(array,
				      json_pack("{s:o, s:i, s:o}", "limit",
						summary_json_number(rank->limit), "policies",
						(int)rank->policies, "tau_b",
						summary_json_number(rank->tau_b)));
	}
	return array;
}

static json_t *accuracies_json(const struct compare *compare)
{
	json_t *array = json_array();

	for (guint i = 0; i < compare->accuracies->len; i++) {
		const struct compare_accuracy *accuracy =
			&g_array_index(compare->accuracies, struct compare_accuracy, i);

		json_array_append_new(
			array, json_pack("{s:s?, s:i, s:o, s:o}", "cluster", accuracy->cluster,
					 "tasks", (int)accuracy->n, "median_error",
					 summary_json_number(accuracy->median_error),
					 "median_ratio",
					 summary_json_number(accuracy->median_ratio)));
	}
	return array;
}

json_t *compare_json(const struct compare *compare)
{
	g_autofree char *sentence = compare_sentence(compare);
	json_t *missing = json_array();

	for (guint i = 0; i < compare->missing->len; i++)
		json_array_append_new(missing, json_string(compare->missing->pdata[i]));
	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "verdict",
			 compare_verdict_name(compare->verdict), "sentence", sentence, "pairs_same",
			 (int)compare->same, "pairs_opposite", (int)compare->opposite,
			 "pairs_too_noisy", (int)compare->noisy, "measured",
			 summary_json(compare->measured), "simulated",
			 summary_json(compare->simulated), "pairs", pairs_json(compare), "ranks",
			 ranks_json(compare), "accuracy", accuracies_json(compare), "not_compared",
			 missing);
}
