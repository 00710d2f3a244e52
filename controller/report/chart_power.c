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
 * enough. Returns its maximum, watts.
 */
static double put_rows_of_all(GString *csv, const struct run_trace *trace)
{
	g_autoptr(GArray) sum = run_trace_watts(trace);
	guint step = step_of(trace) > 1 ? trace->hosts->len : 1;
	double max_w = 0;

	for (guint i = 0; i < sum->len; i++) {
		const struct run_point *point = &g_array_index(sum, struct run_point, i);

		max_w = fmax(max_w, point->value);
		if (i % step && i + 1 < sum->len)
			continue;
		put_row(csv, all_hosts, point->time_s, point->value, trace->run->idle_w, false);
	}
	return max_w;
}

static char *data(const struct run_trace *trace, double *ret_max_w)
{
	GString *csv = g_string_new("host,time_s,watts,idle_w,gap\n");

	*ret_max_w = put_rows_of_all(csv, trace);
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

struct chart *chart_power(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix)
{
	g_autofree char *stem = chart_run_stem(trace->run);
	g_autofree char *name = chart_run_title(summary, trace->run);
	g_autoptr(GPtrArray) hosts = g_ptr_array_new();
	struct chart *chart;
	double max_w = 0;

	if (trace->hosts->len == 0 || !isfinite(trace->run->ended_s))
		return NULL;
	for (guint i = 0; i < trace->hosts->len; i++)
		g_ptr_array_add(hosts,
				(char *)g_array_index(trace->hosts, struct run_host, i).name);
	chart = chart_new("power", "%spower-%s", prefix, stem);
	chart->title = g_strdup_printf("Power: %s", name);
	chart->notes = chart_notes(summary);
	chart->caption = g_strdup_printf(
		"Watts as the hosts' meters gave them: the sum above, each host below, each with "
		"the idle baseline that was measured before the run. The area above the baseline "
		"is the dynamic energy. A cross ends a gap without samples.%s",
		step_of(trace) > 1 ? " Of many samples only some are drawn; all are in the data."
				   : "");
	chart->csv = data(trace, &max_w);
	chart_set_texts(chart, "hosts", hosts);
	chart_set_number(chart, "step", step_of(trace));
	chart_set_time(chart, trace->run->ended_s);
	chart_set_unit(chart, "power", chart_power_unit, max_w);
	chart->width = WIDTH;
	/* The key has two entries besides the hosts, and at least two columns. */
	chart->height = SUM_HEIGHT + HOSTS_HEIGHT + AROUND_HEIGHT +
			KEY_LINE * ((trace->hosts->len + 3) / 2);
	return chart;
}
