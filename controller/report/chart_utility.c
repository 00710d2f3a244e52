/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/report/arrivals.h"
#include "controller/report/charts.h"
#include "controller/report/csv.h"

/* The part of the distance between two limits that the bars of a limit fill. */
#define GROUP_WIDTH 0.84

/* The run drawn as points: the simulation of the measured arrivals. */
#define SAME "measured arrivals"

/* The contents: all policies and limits of any directory. */
struct figure {
	struct summary *const *summaries;
	guint count;
	GPtrArray *policies; /* const char *, borrowed */
	GArray *limits;      /* double */
	/* with `same`: the directory whose arrivals were simulated */
	const struct summary *measured;
	/* index of the simulation of these arrivals, drawn as points; -1: none */
	int same;
};

/* Finds the first simulation of the arrivals of the first measurement. */
static void find_same(struct figure *figure)
{
	figure->measured = NULL;
	figure->same = -1;
	for (guint i = 0; i < figure->count && !figure->measured; i++)
		if (figure->summaries[i]->measured)
			figure->measured = figure->summaries[i];
	for (guint i = 0; figure->measured && figure->same < 0 && i < figure->count; i++)
		if (!figure->summaries[i]->measured && figure->summaries[i]->repeats > 1 &&
		    arrivals_are_same(figure->measured, figure->summaries[i]))
			figure->same = (int)i;
}

static void figure_init(struct figure *figure, struct summary *const *summaries, guint count)
{
	figure->summaries = summaries;
	figure->count = count;
	figure->policies = g_ptr_array_new();
	figure->limits = g_array_new(FALSE, FALSE, sizeof(double));
	for (guint i = 0; i < count; i++) {
		for (guint j = 0; j < summaries[i]->policies->len; j++)
			summary_note_name(figure->policies, summaries[i]->policies->pdata[j]);
		for (guint j = 0; j < summaries[i]->limits->len; j++)
			summary_note_limit(figure->limits,
					   g_array_index(summaries[i]->limits, double, j));
	}
	find_same(figure);
}

static void figure_clear(struct figure *figure)
{
	g_ptr_array_unref(figure->policies);
	g_array_unref(figure->limits);
}

/* The width of a bar, with a small gap between policies. */
static double bar_width(const struct figure *figure)
{
	return GROUP_WIDTH / (figure->policies->len * (figure->count + 0.25));
}

/* The middle of a bar; limit i is at x = i. */
static double bar_x(const struct figure *figure, guint limit, guint policy, guint run)
{
	double width = bar_width(figure);
	double slot = width * (figure->count + 0.25);
	double first = limit - GROUP_WIDTH / 2 + slot * policy + 0.125 * width;

	/* Rounded to six digits, without a negative zero, so that the CSV reads well. */
	return rint((first + width * (run + 0.5)) * 1e6) / 1e6 + 0.0;
}

/*
 * "measured", or the directory's name where several of its kind are drawn, or its path where names
 * are equal.
 */
static char *run_name(const struct figure *figure, guint run)
{
	const struct summary *summary = figure->summaries[run];
	g_autofree char *name = g_path_get_basename(summary->dir);
	bool kind_told = true;
	bool name_told = true;

	for (guint i = 0; i < figure->count; i++) {
		g_autofree char *other = g_path_get_basename(figure->summaries[i]->dir);

		if (i == run)
			continue;
		kind_told = kind_told && figure->summaries[i]->measured != summary->measured;
		name_told = name_told && !g_str_equal(other, name);
	}
	if (kind_told)
		return g_strdup(summary->measured ? "measured" : "simulated");
	return name_told ? g_steal_pointer(&name) : g_strdup(summary->dir);
}

static void put_row(GString *csv, const char *policy, const char *run, double limit, double x,
		    double utility, double utility_sd, double energy_j)
{
	csv_text(csv, policy);
	csv_text(csv, run);
	csv_number(csv, limit);
	csv_number(csv, x);
	csv_number(csv, utility);
	csv_number(csv, utility_sd);
	csv_number(csv, energy_j);
	csv_end(csv);
}

/* The last rows: the utility of the simulation of the measured arrivals. */
static void put_same(GString *csv, const struct figure *figure)
{
	const struct summary *simulated = figure->summaries[figure->same];

	for (guint i = 0; i < figure->policies->len * figure->limits->len; i++) {
		guint policy = i % figure->policies->len;
		guint limit_index = i / figure->policies->len;
		double limit = g_array_index(figure->limits, double, limit_index);
		const struct store_run *run = arrivals_run(figure->measured, simulated,
							   figure->policies->pdata[policy], limit);

		if (run)
			put_row(csv, figure->policies->pdata[policy], SAME, limit,
				bar_x(figure, limit_index, policy, (guint)figure->same),
				run->utility, (double)NAN, run->energy_j);
	}
}

static char *data(const struct figure *figure)
{
	GString *csv = g_string_new("policy,run,limit,x,utility_mean,utility_sd,energy_j_mean\n");

	for (guint i = 0; i < figure->policies->len * figure->count; i++) {
		guint policy = i / figure->count;
		guint run = i % figure->count;
		const char *name = figure->policies->pdata[policy];
		g_autofree char *title = run_name(figure, run);

		for (guint j = 0; j < figure->limits->len; j++) {
			double limit = g_array_index(figure->limits, double, j);
			const struct summary_cell *cell =
				summary_cell(figure->summaries[run], name, limit);

			if (cell)
				put_row(csv, name, title, limit, bar_x(figure, j, policy, run),
					cell->utility_mean, cell->utility_sd, cell->energy_j_mean);
		}
	}
	if (figure->same >= 0)
		put_same(csv, figure);
	return g_string_free(csv, FALSE);
}

/* Whether patterns would repeat: then bars have numbers below them, which the key explains. */
static bool has_numbers(const struct figure *figure)
{
	return figure->policies->len > CHART_PATTERNS;
}

/* The headings of all runs. */
static GPtrArray *notes(const struct figure *figure)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < figure->count; i++)
		g_ptr_array_extend_and_steal(all, summary_heading(figure->summaries[i]));
	return all;
}

/* The policies per row of the key, by the pixels of their names. */
static guint key_policies(const struct figure *figure, guint width)
{
	gsize longest = 0;

	for (guint i = 0; i < figure->policies->len; i++)
		longest = MAX(longest, strlen(figure->policies->pdata[i]));
	return MAX(1, width / (figure->count * (120 + 7 * (guint)longest)));
}

/* 34 pixels per bar, fewer where there are very many. */
static guint chart_width(const struct figure *figure)
{
	const guint bars = figure->policies->len * figure->count * figure->limits->len;

	return MAX(860, MIN(300 + 34 * bars, MAX(1500, 300 + 14 * bars)));
}

/* The energy of 100 %, "2.8 MJ", if the runs agree on it. */
static char *budget(const struct figure *figure)
{
	double budget_j = NAN;

	for (guint i = 0; i < figure->count; i++) {
		const struct summary_cell *cell = &figure->summaries[i]->cells[0];
		double one_j = cell->limit_j / cell->limit;

		if (i > 0 && !(fabs(one_j - budget_j) <= 0.005 * budget_j))
			return g_strdup("100 %");
		budget_j = one_j;
	}
	return budget_j > 0 ? chart_energy_text(budget_j) : g_strdup("100 %");
}

/* A single run has no deviation. */
static bool has_deviations(const struct figure *figure)
{
	for (guint i = 0; i < figure->count; i++)
		if (figure->summaries[i]->repeats > 1)
			return true;
	return false;
}

static void set_variables(struct chart *chart, const struct figure *figure)
{
	g_autoptr(GPtrArray) directories = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *hundred = budget(figure);

	for (guint i = 0; i < figure->count; i++)
		g_ptr_array_add(directories, run_name(figure, i));
	chart_set_texts(chart, "policies", figure->policies);
	chart_set_texts(chart, "directories", directories);
	chart_set_numbers(chart, "limits", figure->limits);
	chart_set_text(chart, "budget", hundred);
	chart_set_number(chart, "bar_width", bar_width(figure));
	chart_set_number(chart, "deviations", has_deviations(figure));
	chart_set_number(chart, "key_columns", figure->count * key_policies(figure, chart->width));
	chart_set_number(chart, "numbered", has_numbers(figure));
	chart_set_number(chart, "same", figure->same >= 0);
}

struct chart *chart_utility(struct summary *const *summaries, guint count)
{
	struct chart *chart = chart_new("utility", "utility");
	struct figure figure;
	guint columns;

	figure_init(&figure, summaries, count);
	chart->title = g_strdup("Utility earned under each limit of energy");
	chart->notes = notes(&figure);
	chart->caption = g_strdup_printf(
		"A group of bars per limit, a bar per policy%s%s", count > 1 ? " and run" : "",
		figure.same >= 0 ? ". Diamonds: the one simulation of the very arrivals that were "
				   "measured; the pale bars are means over other workloads too."
				 : ".");
	chart->csv = data(&figure);
	chart->width = chart_width(&figure);
	set_variables(chart, &figure);
	columns = key_policies(&figure, chart->width);
	chart->height = 520 + 20 * ((figure.policies->len + columns - 1) / columns) +
			(has_numbers(&figure) ? 20 : 0);
	figure_clear(&figure);
	return chart;
}
