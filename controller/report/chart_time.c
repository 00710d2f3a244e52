/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/report/charts.h"
#include "controller/report/csv.h"

/* Pixels; of a panel with the gap below it, and of the space around all (time.gp). */
enum { WIDTH = 820, PANEL_HEIGHT = 272, AROUND_HEIGHT = 88 };
/*
 * Pixels: the height of a line of the key, which has room for three; the width of a character and
 * of a sample.
 */
enum { KEY_LINE = 16, KEY_LINES = 3, KEY_CHARACTER = 8, KEY_SAMPLE = 60 };

/*
 * More points than pixels only make the data of long runs larger; the remaining points are exact.
 */
#define POINTS_MAX 1000

/* A quantity that is drawn over time. */
struct quantity {
	const char *name; /* of the files */
	const char *column;
	const char *title;
	const char *label; /* of the axis; for energy, without its unit */
	const char *style; /* gnuplot's: steps or straight lines */
	const char *caption;
	GArray *(*curve)(const struct run_trace *trace);
	bool is_energy; /* energies have a unit, and a limit that is drawn */
};

static const struct quantity utility = {
	.name = "utility-time",
	.column = "utility",
	.title = "Utility earned over time",
	.label = "utility",
	.style = "steps",
	.caption = "A step is a task that completed and earned something. A panel per limit of "
		   "energy, a line per run; repeats of a policy have its colour.",
	.curve = run_trace_utility,
};

static const struct quantity energy = {
	.name = "energy-time",
	.column = "energy_j",
	.title = "Dynamic energy against its limit",
	.label = "dynamic energy",
	.style = "lines",
	.caption = "Dynamic energy used so far: what the hosts drew above their idle baseline. A "
		   "panel per limit, which is the dashed line; a run that reaches it ends.",
	.curve = run_trace_energy,
	.is_energy = true,
};

/* Writes every n-th point and the last. Returns their number. */
static guint put_curve(GString *csv, const struct run_trace *trace, const GArray *points)
{
	guint step = 1 + points->len / POINTS_MAX;
	guint count = 0;

	for (guint i = 0; i < points->len; i++) {
		const struct run_point *point = &g_array_index(points, struct run_point, i);

		if (i % step && i + 1 < points->len)
			continue;
		csv_text(csv, trace->run->policy);
		csv_number(csv, trace->run->limit);
		csv_number(csv, trace->run->limit_j);
		csv_integer(csv, trace->run->run);
		csv_integer(csv, trace->run->repeat);
		csv_number(csv, point->time_s);
		csv_number(csv, point->value);
		csv_end(csv);
		count++;
	}
	return count;
}

/* What the program knows of each run with a curve, in the order of the data. */
enum column { RUN, POLICY, LIMIT, LIMIT_J, POINTS, COLUMNS };

static const char *const column_names[COLUMNS] = {
	[RUN] = "runs",            /* its number */
	[POLICY] = "run_policy",   /* the index of its policy, from 1 */
	[LIMIT] = "run_limit",     /* the index of its limit, from 1 */
	[LIMIT_J] = "run_limit_j", /* joules */
	[POINTS] = "run_points",   /* the number of drawn points */
};

struct drawn {
	GArray *columns[COLUMNS]; /* double, a value per run */
	double end_s;             /* end of the longest run */
	double value_max;         /* the highest value at the end of a run, in joules or utility */
};

static void note_run(struct drawn *drawn, const struct summary *summary,
		     const struct store_run *run, const GArray *points, guint count)
{
	const double last = g_array_index(points, struct run_point, points->len - 1).value;
	double values[COLUMNS] = {
		[RUN] = (double)run->run, [LIMIT_J] = run->limit_j, [POINTS] = count};
	guint policy = 0;
	guint limit = 0;

	g_ptr_array_find_with_equal_func(summary->policies, run->policy, g_str_equal, &policy);
	while (limit + 1 < summary->limits->len &&
	       !summary_same_limit(run->limit, g_array_index(summary->limits, double, limit)))
		limit++;
	values[POLICY] = policy + 1;
	values[LIMIT] = limit + 1;
	for (int i = 0; i < COLUMNS; i++)
		g_array_append_val(drawn->columns[i], values[i]);
	drawn->end_s = fmax(drawn->end_s, run->ended_s);
	drawn->value_max = fmax(drawn->value_max, last);
}

static char *data(const struct quantity *quantity, const struct summary *summary, GPtrArray *traces,
		  struct drawn *drawn)
{
	GString *csv = g_string_new("policy,limit,limit_j,run,repeat,time_s,");

	g_string_append_printf(csv, "%s\n", quantity->column);
	for (guint i = 0; i < traces->len; i++) {
		const struct run_trace *trace = traces->pdata[i];
		g_autoptr(GArray) points = quantity->curve(trace);

		if (points->len > 0)
			note_run(drawn, summary, trace->run, points, put_curve(csv, trace, points));
	}
	return g_string_free(csv, FALSE);
}

static void set_variables(struct chart *chart, const struct quantity *quantity,
			  const struct summary *summary, const struct drawn *drawn)
{
	double scale = 1;
	const char *unit = quantity->is_energy ? chart_energy_unit(drawn->value_max, &scale) : NULL;
	g_autofree char *label =
		g_strdup_printf("%s%s%s", quantity->label, unit ? ", " : "", unit ?: "");

	chart_set_texts(chart, "policies", summary->policies);
	chart_set_numbers(chart, "limits", summary->limits);
	for (int i = 0; i < COLUMNS; i++)
		chart_set_numbers(chart, column_names[i], drawn->columns[i]);
	chart_set_text(chart, "quantity", quantity->column);
	chart_set_text(chart, "style", quantity->style);
	chart_set_text(chart, "label", label);
	chart_set_number(chart, "scale", scale);
	chart_set_number(chart, "limited", quantity->is_energy);
	chart_set_time(chart, drawn->end_s);
}

static char *title_of(const struct quantity *quantity, const struct summary *summary)
{
	g_autofree char *name = store_get_meta(summary->store, "config_name");

	return g_strdup_printf("%s: %s%s%s%s", quantity->title,
			       summary->measured ? "measured" : "simulated", name ? ", " : "",
			       name ? name : "", summary->measured ? "" : ", trial 1");
}

/* The height of the key beyond its room of three lines: names in columns, and the limit. */
static guint key_height(const struct summary *summary)
{
	gsize longest = 0;
	guint columns;
	guint lines;

	for (guint i = 0; i < summary->policies->len; i++)
		longest = MAX(longest, strlen(summary->policies->pdata[i]));
	columns = MAX(1, WIDTH / (KEY_SAMPLE + KEY_CHARACTER * (guint)longest));
	lines = (summary->policies->len + 1 + columns - 1) / columns;
	return lines > KEY_LINES ? KEY_LINE * (lines - KEY_LINES) : 0;
}

static struct chart *new_chart(const struct quantity *quantity, const struct summary *summary,
			       GPtrArray *traces, const char *prefix)
{
	struct drawn drawn = {.end_s = 0};
	struct chart *chart = NULL;
	g_autofree char *csv = NULL;

	for (int i = 0; i < COLUMNS; i++)
		drawn.columns[i] = g_array_new(FALSE, FALSE, sizeof(double));
	csv = data(quantity, summary, traces, &drawn);
	/* Of runs that use no energy there is nothing to draw. */
	if (drawn.columns[RUN]->len > 0 && (!quantity->is_energy || drawn.value_max > 0)) {
		chart = chart_new("time", "%s%s", prefix, quantity->name);
		chart->title = title_of(quantity, summary);
		chart->notes = chart_notes(summary);
		chart->caption = g_strdup(quantity->caption);
		chart->csv = g_steal_pointer(&csv);
		chart->width = WIDTH;
		chart->height =
			AROUND_HEIGHT + summary->limits->len * PANEL_HEIGHT + key_height(summary);
		set_variables(chart, quantity, summary, &drawn);
	}
	for (int i = 0; i < COLUMNS; i++)
		g_array_unref(drawn.columns[i]);
	return chart;
}

struct chart *chart_utility_time(const struct summary *summary, GPtrArray *traces,
				 const char *prefix)
{
	return new_chart(&utility, summary, traces, prefix);
}

struct chart *chart_energy_time(const struct summary *summary, GPtrArray *traces,
				const char *prefix)
{
	return new_chart(&energy, summary, traces, prefix);
}
