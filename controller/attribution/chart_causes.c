/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/attribution/chart_causes.h"

#include <math.h>

#include "controller/report/csv.h"

/* Bars between two policies, and pixels of a bar. */
enum { GAP = 1, BAR_WIDTH = 22 };

/* A chart of one limit while its rows are made. */
struct drawing {
	const struct attribution *attribution;
	GString *csv;
	GPtrArray *policies; /* borrowed names */
	GArray *places;      /* double */
	GPtrArray *steps;    /* borrowed names, in the order of the bars */
	double x;            /* of the last bar */
	double low, high;    /* of all values */
};

/* The rest after all causes; with what is simulated again, which is rarely anything. */
static const char *const remains_title = "what remains";

static void list_steps(struct drawing *drawing)
{
	g_ptr_array_add(drawing->steps, (char *)"simulated");
	for (enum cause c = 0; c < CAUSES; c++)
		if (drawing->attribution->causes >> c & 1)
			g_ptr_array_add(drawing->steps, (char *)cause_titles[c]);
	g_ptr_array_add(drawing->steps, (char *)remains_title);
	g_ptr_array_add(drawing->steps, (char *)"measured");
}

static void put_bar(struct drawing *drawing, const char *policy, const char *step, double from,
		    double to, const struct stats_interval *part, bool line)
{
	const double base = part ? to - part->value : 0;

	drawing->x++;
	csv_text(drawing->csv, policy);
	csv_text(drawing->csv, step);
	csv_number(drawing->csv, drawing->x);
	csv_number(drawing->csv, from);
	csv_number(drawing->csv, to);
	csv_number(drawing->csv, part ? base + part->low : (double)NAN);
	csv_number(drawing->csv, part ? base + part->high : (double)NAN);
	csv_number(drawing->csv, line);
	csv_end(drawing->csv);
	drawing->low = fmin(drawing->low, to);
	drawing->high = fmax(drawing->high, to);
	if (part && isfinite(part->low)) {
		drawing->low = fmin(drawing->low, base + part->low);
		drawing->high = fmax(drawing->high, base + part->high);
	}
}

static void put_policy(struct drawing *drawing, const struct attribution_cell *cell)
{
	const struct attribution_split *split = &cell->splits[drawing->attribution->measure];
	const double first_x = drawing->x + 1;
	struct stats_interval rest = split->remains;
	double value = split->simulated;
	double place;

	put_bar(drawing, cell->policy, "simulated", 0, value, NULL, false);
	for (enum cause c = 0; c < CAUSES; c++) {
		if (!(drawing->attribution->causes >> c & 1))
			continue;
		put_bar(drawing, cell->policy, cause_titles[c], value,
			value + split->parts[c].value, &split->parts[c], true);
		value += split->parts[c].value;
	}
	rest.value += split->again;
	rest.low += split->again;
	rest.high += split->again;
	put_bar(drawing, cell->policy, remains_title, value, value + rest.value, &rest, true);
	put_bar(drawing, cell->policy, "measured", 0, split->measured, NULL, false);
	place = (first_x + drawing->x) / 2;
	g_ptr_array_add(drawing->policies, (char *)cell->policy);
	g_array_append_val(drawing->places, place);
	drawing->x += GAP;
}

static struct chart *make_chart(struct drawing *drawing, double limit)
{
	struct chart *chart = chart_new("causes", "causes-%g", 100 * limit);
	const double space = fmax(0.1 * (drawing->high - drawing->low), 1e-3 * drawing->high);
	/* Where all is 0 the axis would be empty. */
	const double margin = space > 0 ? space : 1;

	chart->title =
		g_strdup_printf("Why measured and simulated differ at %g %%: %s", 100 * limit,
				attribution_measure_title(drawing->attribution->measure));
	chart->caption = g_strdup(
		"For each policy from the simulated value, cause by cause, to the measured one; the "
		"axis does not begin at 0. Thin lines: 95 % intervals of the parts.");
	chart->csv = g_strdup(drawing->csv->str);
	chart->width = (guint)fmax(860, 160 + BAR_WIDTH * drawing->x);
	chart->height = 460;
	chart_set_texts(chart, "policies", drawing->policies);
	chart_set_numbers(chart, "places", drawing->places);
	chart_set_texts(chart, "steps", drawing->steps);
	chart_set_text(chart, "axis", attribution_measure_title(drawing->attribution->measure));
	chart_set_number(chart, "low", fmax(0, drawing->low - margin));
	chart_set_number(chart, "high", drawing->high + margin);
	chart_set_number(chart, "end_x", drawing->x);
	return chart;
}

GPtrArray *chart_causes(const struct attribution *attribution)
{
	GPtrArray *charts = g_ptr_array_new_with_free_func((GDestroyNotify)chart_free);
	guint i = 0;

	while (i < attribution->cells->len) {
		const double limit =
			g_array_index(attribution->cells, struct attribution_cell, i).limit;
		struct drawing drawing = {
			.attribution = attribution,
			.csv = g_string_new("policy,step,x,from,to,low,high,line\n"),
			.policies = g_ptr_array_new(),
			.places = g_array_new(FALSE, FALSE, sizeof(double)),
			.steps = g_ptr_array_new(),
			.low = INFINITY,
			.high = -INFINITY,
		};

		list_steps(&drawing);
		for (; i < attribution->cells->len; i++) {
			const struct attribution_cell *cell =
				&g_array_index(attribution->cells, struct attribution_cell, i);

			if (cell->limit != limit)
				break;
			if (cell->splits[attribution->measure].known)
				put_policy(&drawing, cell);
		}
		if (drawing.policies->len)
			g_ptr_array_add(charts, make_chart(&drawing, limit));
		g_string_free(drawing.csv, TRUE);
		g_ptr_array_unref(drawing.policies);
		g_array_unref(drawing.places);
		g_ptr_array_unref(drawing.steps);
	}
	return charts;
}
