/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/report/charts.h"
#include "controller/report/csv.h"

/* Pixels of a panel, of the gap between two, and of the space around all. */
enum { WIDTH = 820, PANEL_HEIGHT = 210, PANEL_AIR = 62, AROUND_HEIGHT = 88 };
/*
 * Pixels: the height of a line of the key, which has room for three; the width of a character and
 * of a sample.
 */
enum { KEY_LINE = 16, KEY_LINES = 3, KEY_CHARACTER = 8, KEY_SAMPLE = 60 };

/*
 * More points than pixels only make the data of long runs larger; the remaining points are exact.
 */
#define POINTS_MAX 1000

/* The approximate number of marks on a curve. */
#define MARKS 8

/* A quantity that is drawn over time. */
struct quantity {
	const char *name;    /* of the files */
	const char *column;
	const char *title;
	const char *label;   /* of the axis; for energy, without its unit */
	const char *style;   /* gnuplot's: steps or straight lines */
	const char *caption;
	GArray *(*curve)(const struct run_trace *trace);
	bool is_energy;      /* energies have a unit, and a limit that is drawn */
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

/* The data as the script describes them. */
struct drawn {
	GPtrArray *traces; /* the traces with a curve */
	GArray *points;    /* guint: number of drawn points of each */
	double end_s;      /* end of the longest run */
	double value_max;  /* the highest value at the end of a run, in joules or utility */
};

static char *data(const struct quantity *quantity, GPtrArray *traces, struct drawn *drawn)
{
	GString *csv = g_string_new("policy,limit,limit_j,run,repeat,time_s,");

	g_string_append_printf(csv, "%s\n", quantity->column);
	for (guint i = 0; i < traces->len; i++) {
		const struct run_trace *trace = traces->pdata[i];
		g_autoptr(GArray) points = quantity->curve(trace);
		const struct run_point *last;
		guint count;

		if (points->len == 0)
			continue;
		count = put_curve(csv, trace, points);
		g_array_append_val(drawn->points, count);
		g_ptr_array_add(drawn->traces, (gpointer)trace);
		drawn->end_s = fmax(drawn->end_s, trace->run->ended_s);
		last = &g_array_index(points, struct run_point, points->len - 1);
		drawn->value_max = fmax(drawn->value_max, last->value);
	}
	return g_string_free(csv, FALSE);
}

/* The points of a curve between two marks. */
static guint mark_step(const struct drawn *drawn, guint curve)
{
	return MAX(1, g_array_index(drawn->points, guint, curve) / MARKS);
}

static guint policy_index(const struct summary *summary, const char *policy)
{
	guint index = 0;

	g_ptr_array_find_with_equal_func(summary->policies, policy, g_str_equal, &index);
	return index;
}

/*
 * Adds the lines of a limit; the first run of a policy gets its name. Returns the number of lines.
 */
static guint put_lines(GString *text, const struct quantity *quantity,
		       const struct summary *summary, const struct drawn *drawn, double limit)
{
	g_autoptr(GHashTable) named = g_hash_table_new(g_str_hash, g_str_equal);
	guint lines = 0;

	for (guint i = 0; i < drawn->traces->len; i++) {
		const struct store_run *run = ((struct run_trace *)drawn->traces->pdata[i])->run;
		bool first;
		g_autofree char *name = NULL;
		g_autofree char *line = NULL;

		if (!summary_same_limit(run->limit, limit))
			continue;
		first = g_hash_table_add(named, run->policy);
		name = chart_quoted(run->policy);
		line = chart_line(policy_index(summary, run->policy));
		g_string_append_printf(
			text,
			"%s  data using (of(%" G_GINT64_FORMAT ")):(scale * column('%s')) "
			"with %s lw %s %s notitle",
			lines ? ", \\\n" : "", run->run, quantity->column, quantity->style,
			first ? "1.6" : "0.8", line);
		/* Marks of different lines are at different points. */
		if (first)
			g_string_append_printf(
				text,
				", \\\n  data using (of(%" G_GINT64_FORMAT
				")):(scale * column('%s')) every %u::%u with points ps 0.9 %s "
				"notitle, \\\n"
				"  keyentry with linespoints lw 1.6 ps 0.9 %s title %s",
				run->run, quantity->column, mark_step(drawn, i),
				lines * 7 % mark_step(drawn, i), line, line, name);
		lines++;
	}
	return lines;
}

static double limit_j(const struct drawn *drawn, double limit)
{
	for (guint i = 0; i < drawn->traces->len; i++) {
		const struct store_run *run = ((struct run_trace *)drawn->traces->pdata[i])->run;

		if (summary_same_limit(run->limit, limit))
			return run->limit_j;
	}
	return NAN;
}

static void put_panel(GString *text, const struct quantity *quantity,
		      const struct summary *summary, const struct drawn *drawn, guint panel)
{
	double limit = g_array_index(summary->limits, double, panel);
	bool last = panel + 1 == summary->limits->len;

	g_string_append_c(text, '\n');
	chart_put_panel(text, 36 + panel * (PANEL_HEIGHT + PANEL_AIR), PANEL_HEIGHT);
	g_string_append_printf(text,
			       "set title 'limit %g %%' offset 0,-0.6\n"
			       "set ylabel label\n%splot \\\n",
			       100 * limit,
			       last ? "set xlabel since\n" CHART_KEY "\n" : "unset key\n");
	/* A limit without curves would be an error in gnuplot, so each panel draws something. */
	if (put_lines(text, quantity, summary, drawn, limit))
		g_string_append(text, ", \\\n");
	g_string_append_printf(text, "  scale * %s with lines dt 2 lw 1.2 lc rgb '#606060' %s\n",
			       quantity->is_energy && isfinite(limit_j(drawn, limit))
				       ? g_ascii_formatd((char[G_ASCII_DTOSTR_BUF_SIZE]){0},
							 G_ASCII_DTOSTR_BUF_SIZE, "%.6f",
							 limit_j(drawn, limit))
				       : "NaN",
			       quantity->is_energy ? "title 'limit'" : "notitle");
}

static void put_unit(GString *text, const struct quantity *quantity, const struct drawn *drawn)
{
	double scale = 1;
	const char *unit = quantity->is_energy ? chart_energy_unit(drawn->value_max, &scale) : NULL;

	chart_put_number(text, "scale", scale);
	g_string_append_printf(text, "label = '%s%s%s'\n", quantity->label, unit ? ", " : "",
			       unit ?: "");
	chart_put_time(text, drawn->end_s);
}

static char *script(const struct quantity *quantity, const struct summary *summary,
		    const struct drawn *drawn)
{
	GString *text = g_string_new(NULL);
	g_autofree char *x_range = chart_time_range(drawn->end_s);

	put_unit(text, quantity, drawn);
	g_string_append(
		text, "of(run) = column('run') == run ? time_scale * column('time_s') : NaN\n\n");
	chart_put_panels(text, "0.12", x_range, "");
	for (guint i = 0; i < summary->limits->len; i++) {
		put_panel(text, quantity, summary, drawn, i);
		g_string_append(text, i == 0 ? "unset label " CHART_NOTES "\n" : "");
	}
	g_string_append(text, "unset multiplot\n");
	return g_string_free(text, FALSE);
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
	g_autoptr(GPtrArray) with_curve = g_ptr_array_new();
	g_autoptr(GArray) counts = g_array_new(FALSE, FALSE, sizeof(guint));
	struct drawn drawn = {.traces = with_curve, .points = counts};
	g_autofree char *csv = data(quantity, traces, &drawn);
	struct chart *chart;

	if (with_curve->len == 0)
		return NULL;
	chart = chart_new("%s%s", prefix, quantity->name);
	chart->title = title_of(quantity, summary);
	chart->notes = chart_notes(summary);
	chart->caption = g_strdup(quantity->caption);
	chart->csv = g_steal_pointer(&csv);
	chart->script = script(quantity, summary, &drawn);
	chart->width = WIDTH;
	chart->height = AROUND_HEIGHT + summary->limits->len * (PANEL_HEIGHT + PANEL_AIR) +
			key_height(summary);
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
