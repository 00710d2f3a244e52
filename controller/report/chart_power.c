/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/report/charts.h"
#include "controller/report/csv.h"

/* Pixels. Both panels have the same left and right ends. */
enum { WIDTH = 820, SUM_HEIGHT = 190, HOSTS_HEIGHT = 230, AROUND_HEIGHT = 130, KEY_LINE = 20 };

/* More points than pixels only make the file larger. */
#define POINTS_MAX 1000

static const char all_hosts[] = "all hosts";

static void put_row(GString *csv, const char *host, double time_s, double watts, double idle_w,
		    bool gap)
{
	csv_text(csv, host);
	csv_number(csv, time_s);
	csv_number(csv, watts);
	csv_number(csv, idle_w);
	csv_integer(csv, gap);
	csv_end(csv);
}

/* The samples between two drawn points. */
static guint step_of(const struct run_trace *trace)
{
	return MAX(1, trace->samples->len / (trace->hosts->len * POINTS_MAX));
}

/*
 * The sum is known at each sample of any host, so in long runs a part of one per number of hosts is
 * enough.
 */
static void put_rows_of_all(GString *csv, const struct run_trace *trace)
{
	g_autoptr(GArray) sum = run_trace_watts(trace);
	guint step = step_of(trace) > 1 ? trace->hosts->len : 1;

	for (guint i = 0; i < sum->len; i++) {
		const struct run_point *point = &g_array_index(sum, struct run_point, i);

		if (i % step && i + 1 < sum->len)
			continue;
		put_row(csv, all_hosts, point->time_s, point->value, trace->run->idle_w, false);
	}
}

static char *data(const struct run_trace *trace)
{
	GString *csv = g_string_new("host,time_s,watts,idle_w,gap\n");

	put_rows_of_all(csv, trace);
	for (guint i = 0; i < trace->samples->len; i++) {
		const struct store_sample *sample = trace->samples->pdata[i];
		double idle_w = NAN;

		for (guint j = 0; j < trace->hosts->len; j++) {
			const struct run_host *host =
				&g_array_index(trace->hosts, struct run_host, j);

			if (g_strcmp0(host->name, sample->host) == 0)
				idle_w = host->idle_w;
		}
		put_row(csv, sample->host, sample->time_s, (double)sample->mw * 1e-3, idle_w,
			sample->gap);
	}
	return g_string_free(csv, FALSE);
}

static void put_sum(GString *text)
{
	chart_put_panel(text, 20, SUM_HEIGHT);
	g_string_append(text,
			"set format x ''\n"
			"set ylabel unit.', all hosts'\n"
			"plot \\\n"
			"  data using (of('all hosts')):(w('watts')):(w('idle_w')) "
			"every step with filledcurves fs solid 0.25 lc rgb '#0072b2' notitle, \\\n"
			"  data using (of('all hosts')):(w('watts')) every step "
			"with lines lw 1.3 lc rgb '#0072b2' notitle, \\\n"
			"  data using (of('all hosts')):(w('idle_w')) every step "
			"with lines dt 2 lw 1.2 lc rgb '#606060' notitle\n");
}

static void put_hosts(GString *text, const struct run_trace *trace)
{
	chart_put_panel(text, 20 + SUM_HEIGHT + 30, HOSTS_HEIGHT);
	/* The empty line separates the key from the label. */
	g_string_append(text, "set format x '%.10g'\n"
			      "set xlabel since.\"\\n \"\n"
			      "set ylabel unit.', each host'\n"
			      CHART_KEY "\n"
			      "plot \\\n");
	for (guint i = 0; i < trace->hosts->len; i++) {
		const struct run_host *host = &g_array_index(trace->hosts, struct run_host, i);
		g_autofree char *name = chart_quoted(host->name);
		g_autofree char *line = chart_line(i);

		g_string_append_printf(
			text,
			"  data using (of(%s)):(w('watts')) every step with lines lw 1.3 "
			"%s title %s, \\\n"
			"  data using (of(%s)):(w('idle_w')) every step with lines dt 2 "
			"lc rgb '#%06x' notitle, \\\n",
			name, line, name, name, chart_colour(i));
	}
	g_string_append(
		text,
		/* These draw nothing but entries of the key, for both panels. */
		"  NaN with boxes fs solid 0.25 noborder lc rgb '#0072b2' "
		"title 'above the baseline: dynamic', \\\n"
		"  NaN with lines dt 2 lc rgb '#606060' title 'idle baseline', \\\n"
		"  data using (gap(1)):(w('watts')) with points pt 2 lc rgb '#000000' "
		"notitle\n");
}

static void put_power_unit(GString *text, const struct run_trace *trace)
{
	g_autoptr(GArray) sum = run_trace_watts(trace);
	const char *unit;
	double max_w = 0;
	double scale;

	for (guint i = 0; i < sum->len; i++)
		max_w = fmax(max_w, g_array_index(sum, struct run_point, i).value);
	unit = chart_power_unit(max_w, &scale);
	chart_put_number(text, "scale", scale);
	g_string_append_printf(text, "unit = '%s'\n", unit);
}

static char *script(const struct run_trace *trace)
{
	GString *text = g_string_new(NULL);
	g_autofree char *x_range = chart_time_range(trace->run->ended_s);

	chart_put_time(text, trace->run->ended_s);
	put_power_unit(text, trace);
	g_string_append_printf(
		text,
		"# Draws every so many samples only.\n"
		"step = %u\n"
		"of(host) = strcol('host') eq host ? time_scale * column('time_s') : NaN\n"
		"w(name) = scale * column(name)\n"
		"# Samples after a gap: what was before them is estimated.\n"
		"gap(x) = column('gap') > 0 ? time_scale * column('time_s') : NaN\n\n",
		step_of(trace));
	chart_put_panels(text, "0.11", x_range, "");
	g_string_append(text, "unset key\n");
	put_sum(text);
	g_string_append(text, "unset label " CHART_NOTES "\n");
	put_hosts(text, trace);
	g_string_append(text, "unset multiplot\n");
	return g_string_free(text, FALSE);
}

struct chart *chart_power(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix)
{
	g_autofree char *stem = chart_run_stem(trace->run);
	g_autofree char *name = chart_run_title(summary, trace->run);
	struct chart *chart;

	if (trace->hosts->len == 0 || !isfinite(trace->run->ended_s))
		return NULL;
	chart = chart_new("%spower-%s", prefix, stem);
	chart->title = g_strdup_printf("Power: %s", name);
	chart->notes = chart_notes(summary);
	chart->caption = g_strdup_printf(
		"Watts as the hosts' meters gave them: the sum above, each host below, each with "
		"the idle baseline that was measured before the run. The area above the baseline "
		"is the dynamic energy. A cross ends a gap without samples.%s",
		step_of(trace) > 1 ? " Of many samples only some are drawn; all are in the data."
				   : "");
	chart->csv = data(trace);
	chart->script = script(trace);
	chart->width = WIDTH;
	/* The key has two entries besides the hosts, and at least two columns. */
	chart->height = SUM_HEIGHT + HOSTS_HEIGHT + AROUND_HEIGHT +
			KEY_LINE * ((trace->hosts->len + 3) / 2);
	return chart;
}
