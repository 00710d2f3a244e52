/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/deviation.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/arrivals.h"
#include "controller/report/stats.h"
#include "controller/report/table.h"

static const struct {
	const char *key, *title;
	int decimals;
	bool valued; /* the values have columns; those of the others are in another table */
} quantities[] = {
	[DEVIATION_MAKESPAN] = {"makespan_s", "makespan", 1, true},
	[DEVIATION_ENERGY] = {"energy_j", "energy", 0, false},
	[DEVIATION_WAIT] = {"wait_mean_s", "mean wait", 2, true},
	[DEVIATION_UTILITY] = {"utility", "utility", 2, false},
};

/* Quantities. */

/* Fills the quantities of a run. */
static bool measure_run(const struct summary *summary, const struct store_run *run,
			double ret_values[DEVIATION_QUANTITIES], GError **error)
{
	g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, error);
	double first_s = INFINITY;
	double last_s = -INFINITY;
	double waited_s = 0;
	guint started = 0;

	for (guint i = 0; tasks && i < tasks->len; i++) {
		const struct store_task *task = g_ptr_array_index(tasks, i);

		first_s = fmin(first_s, task->arrival_s);
		if (!isfinite(task->started_s))
			continue;
		waited_s += task->started_s - task->arrival_s;
		started++;
		if (isfinite(task->ended_s))
			last_s = fmax(last_s, task->ended_s);
	}
	ret_values[DEVIATION_MAKESPAN] = isfinite(last_s) ? last_s - first_s : (double)NAN;
	ret_values[DEVIATION_ENERGY] = run->energy_j;
	ret_values[DEVIATION_WAIT] = started ? waited_s / started : (double)NAN;
	ret_values[DEVIATION_UTILITY] = run->utility;
	return tasks != NULL;
}

/*
 * The runs of a cell of a side on the arrivals that both sides have, none where trial 1 was left
 * out; the caller frees the array.
 */
static GPtrArray *runs_of(const struct compare_sides *sides, guint side, const char *policy,
			  double limit)
{
	const struct summary *summary = sides->side[side].summary;
	const struct store_run *run;
	GPtrArray *runs;

	if (summary->measured)
		return summary_cell_runs(summary, policy, limit);
	runs = g_ptr_array_new();
	run = arrivals_run(sides->side[0].summary, summary, policy, limit);
	if (run)
		g_ptr_array_add(runs, (void *)run);
	return runs;
}

/* The means over the runs of a side; *ret_runs is their number. */
static bool measure_side(const struct compare_sides *sides, guint side, struct deviation *deviation,
			 guint *ret_runs, GError **error)
{
	g_autoptr(GPtrArray) runs = runs_of(sides, side, deviation->policy, deviation->limit);

	*ret_runs = runs->len;
	for (guint i = 0; i < runs->len; i++) {
		double values[DEVIATION_QUANTITIES];

		if (!measure_run(sides->side[side].summary, runs->pdata[i], values, error))
			return false;
		for (int q = 0; q < DEVIATION_QUANTITIES; q++)
			deviation->value[q][side] += values[q] / runs->len;
	}
	return true;
}

/* Adds a policy at a limit, unless a side has no run of it on the arrivals of both. */
static bool add_policy(GArray *deviations, const struct compare_sides *sides,
		       const struct summary_cell *cell, GError **error)
{
	struct deviation deviation = {.limit = cell->limit, .policy = cell->policy};

	for (guint side = 0; side < 2; side++) {
		guint runs;

		if (!measure_side(sides, side, &deviation, &runs, error))
			return false;
		if (runs == 0)
			return true;
	}
	for (int q = 0; q < DEVIATION_QUANTITIES; q++) {
		const double *value = deviation.value[q];

		deviation.relative[q] = value[0] > 0 ? value[1] / value[0] - 1 : (double)NAN;
	}
	g_array_append_val(deviations, deviation);
	return true;
}

/* Adds the medians over the policies from row `first` on. */
static void add_median(GArray *deviations, guint first, double limit)
{
	struct deviation median = {.limit = limit};
	g_autofree double *values = g_new(double, deviations->len + 1);

	for (int q = 0; q < DEVIATION_QUANTITIES; q++) {
		size_t count = 0;

		for (guint i = first; i < deviations->len; i++) {
			const struct deviation *one =
				&g_array_index(deviations, struct deviation, i);

			if (one->policy && isfinite(one->relative[q]))
				values[count++] = fabs(one->relative[q]);
		}
		median.value[q][0] = median.value[q][1] = NAN;
		median.relative[q] = stats_median(values, count);
	}
	g_array_append_val(deviations, median);
}

GArray *deviation_measure(const struct compare_sides *sides, GError **error)
{
	const struct summary *first = sides->side[0].summary;
	const struct summary *second = sides->side[1].summary;
	g_autoptr(GArray) deviations = g_array_new(FALSE, FALSE, sizeof(struct deviation));

	if (!arrivals_are_same(first, second))
		return g_steal_pointer(&deviations);
	for (guint i = 0; i < first->limits->len; i++) {
		const double limit = g_array_index(first->limits, double, i);
		const guint begin = deviations->len;

		for (guint k = 0; k < first->policies->len; k++) {
			const char *policy = first->policies->pdata[k];
			const struct summary_cell *cell = summary_cell(first, policy, limit);

			if (cell && summary_cell(second, policy, limit) &&
			    !add_policy(deviations, sides, cell, error))
				return NULL;
		}
		if (deviations->len > begin)
			add_median(deviations, begin, limit);
	}
	if (deviations->len)
		add_median(deviations, 0, NAN);
	return g_steal_pointer(&deviations);
}

/* Output. */

static void add_columns(struct table *table, const struct compare_sides *sides)
{
	for (int q = 0; q < DEVIATION_QUANTITIES; q++) {
		g_autofree char *deviation = g_strdup_printf("%s dev %%", quantities[q].title);

		for (guint side = 0; side < 2 && quantities[q].valued; side++) {
			g_autofree char *title = g_strdup_printf("%s s %s", quantities[q].title,
								 sides->side[side].column);

			table_column(table, title, TABLE_RIGHT);
		}
		table_column(table, deviation, TABLE_RIGHT);
	}
}

static void add_row(struct table *table, const struct deviation *deviation)
{
	table_row(table);
	if (isfinite(deviation->limit))
		table_number(table, 100 * deviation->limit, 0);
	else
		table_text(table, "all");
	table_text(table, deviation->policy ? deviation->policy : "median |dev|");
	for (int q = 0; q < DEVIATION_QUANTITIES; q++) {
		for (guint side = 0; side < 2 && quantities[q].valued; side++)
			table_number(table, deviation->value[q][side], quantities[q].decimals);
		if (isfinite(deviation->relative[q]))
			table_textf(table, deviation->policy ? "%+.1f" : "%.1f",
				    100 * deviation->relative[q]);
		else
			table_text(table, NULL);
	}
	if (!deviation->policy)
		table_rule(table);
}

char *deviation_text(const struct compare_sides *sides, const GArray *deviations)
{
	g_autoptr(table_t) table = table_with(">limit %", "<policy", NULL);
	g_autofree char *body = NULL;

	if (deviations->len == 0)
		return g_strdup("");
	add_columns(table, sides);
	for (guint i = 0; i < deviations->len; i++)
		add_row(table, &g_array_index(deviations, struct deviation, i));
	body = table_format(table, 2);
	return g_strdup_printf(
		"\nDeviation of %s from %s, on the same arrivals\n%s"
		"  dev: %s / %s - 1; makespan: last end less first arrival; mean wait: from "
		"arrival to start;\n    energy: above idle\n",
		sides->side[1].label, sides->side[0].label, body, sides->side[1].label,
		sides->side[0].label);
}

/* A policy with its values, or a median. */
static json_t *row_json(const struct compare_sides *sides, const struct deviation *deviation)
{
	json_t *object = json_pack("{s:o}", "limit", json_number_or_null(deviation->limit));

	if (deviation->policy)
		json_object_set_new(object, "policy", json_string(deviation->policy));
	for (int q = 0; q < DEVIATION_QUANTITIES; q++) {
		json_t *relative = json_number_or_null(deviation->relative[q]);

		json_object_set_new(object, quantities[q].key,
				    !deviation->policy
					    ? relative
					    : json_pack("{s:o, s:o, s:o}", sides->side[0].key,
							json_number_or_null(deviation->value[q][0]),
							sides->side[1].key,
							json_number_or_null(deviation->value[q][1]),
							"deviation", relative));
	}
	return object;
}

json_t *deviation_json(const struct compare_sides *sides, const GArray *deviations)
{
	json_t *rows = json_array();
	json_t *medians = json_array();

	for (guint i = 0; i < deviations->len; i++) {
		const struct deviation *one = &g_array_index(deviations, struct deviation, i);

		json_array_append_new(one->policy ? rows : medians, row_json(sides, one));
	}
	if (deviations->len)
		return json_pack("{s:o, s:o}", "rows", rows, "medians", medians);
	json_decref(rows);
	json_decref(medians);
	return json_null();
}
