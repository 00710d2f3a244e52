/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "common/config/config.h"
#include "controller/report/charts.h"
#include "controller/report/csv.h"
#include "controller/report/stats.h"

/* Pixels: a bar, a panel, and the space around both. */
enum { BAR_WIDTH = 24, WIDTH_MIN = 820, PANEL_HEIGHT = 230, AROUND_HEIGHT = 175 };

#define LEVEL 0.95

/* The part of the distance between two types that the bars of a type fill. */
#define GROUP_WIDTH 0.8

/* The types and clusters that have estimates, in the order of the matrices. */
struct matrix {
	GPtrArray *estimates; /* struct config_estimate */
	GPtrArray *types;     /* const char *, borrowed from the estimates */
	GPtrArray *clusters;
	json_t *speeds; /* for summary_speed() */
};

static guint index_of(GPtrArray *names, const char *name)
{
	guint i = 0;

	g_ptr_array_find_with_equal_func(names, name, g_str_equal, &i);
	return i;
}

/*
 * The values of completed tasks of all runs on one cluster; times in seconds of which `speed` are a
 * real one.
 */
static GArray *observed(GPtrArray *traces, const struct config_estimate *estimate, bool energy,
			double speed)
{
	GArray *values = g_array_new(FALSE, FALSE, sizeof(double));

	for (guint i = 0; i < traces->len; i++) {
		const struct run_trace *trace = traces->pdata[i];

		for (guint j = 0; trace->measured && j < trace->tasks->len; j++) {
			const struct store_task *task = trace->tasks->pdata[j];
			double value = energy ? task->energy_j : task->exec_s * speed;

			if (g_strcmp0(task->state, "completed") == 0 && isfinite(value) &&
			    g_strcmp0(task->type, estimate->type) == 0 &&
			    g_strcmp0(task->cluster, estimate->cluster) == 0)
				g_array_append_val(values, value);
		}
	}
	return values;
}

/* The interval of a mean with its deviation; none for a single or given value. */
static struct stats_interval interval_of(double mean, double sd, uint32_t count)
{
	if (count < 2 || !isfinite(sd))
		return (struct stats_interval){mean,  (double)NAN, (double)NAN,
					       count, (double)NAN, (double)NAN};
	return stats_interval_from_se(mean, sd / sqrt(count), count - 1, LEVEL, count);
}

static void put_interval(GString *csv, const struct stats_interval *interval)
{
	csv_number(csv, interval->value);
	csv_number(csv, interval->low);
	csv_number(csv, interval->high);
}

/* The middle of a bar; type i is at x = i. */
static double bar_x(const struct matrix *matrix, const struct config_estimate *estimate)
{
	double width = GROUP_WIDTH / matrix->clusters->len;

	return index_of(matrix->types, estimate->type) - GROUP_WIDTH / 2 +
	       width * (index_of(matrix->clusters, estimate->cluster) + 0.5);
}

static void put_estimate(GString *csv, const struct matrix *matrix, GPtrArray *traces,
			 const struct config_estimate *estimate)
{
	const double speed = summary_speed(matrix->speeds, estimate->cluster);
	g_autoptr(GArray) exec_s = observed(traces, estimate, false, speed);
	g_autoptr(GArray) energy_j = observed(traces, estimate, true, speed);
	struct stats_interval intervals[] = {
		interval_of(estimate->etc_s, estimate->etc_sd_s, estimate->count),
		interval_of(estimate->eec_j, estimate->eec_sd_j, estimate->count),
		stats_t_interval(stats_values(exec_s), exec_s->len, LEVEL),
		stats_t_interval(stats_values(energy_j), energy_j->len, LEVEL),
	};

	csv_text(csv, estimate->type);
	csv_text(csv, estimate->cluster);
	csv_number(csv, bar_x(matrix, estimate));
	csv_integer(csv, estimate->count);
	put_interval(csv, &intervals[0]);
	put_interval(csv, &intervals[1]);
	csv_integer(csv, exec_s->len);
	put_interval(csv, &intervals[2]);
	put_interval(csv, &intervals[3]);
	csv_end(csv);
}

static char *data(const struct matrix *matrix, GPtrArray *traces)
{
	GString *csv = g_string_new("type,cluster,x,count,etc_s,etc_low_s,etc_high_s,eec_j,"
				    "eec_low_j,eec_high_j,tasks,exec_s,exec_low_s,exec_high_s,"
				    "energy_j,energy_low_j,energy_high_j\n");

	for (guint i = 0; i < matrix->clusters->len; i++)
		for (guint j = 0; j < matrix->estimates->len; j++) {
			const struct config_estimate *estimate = matrix->estimates->pdata[j];

			if (g_str_equal(estimate->cluster, matrix->clusters->pdata[i]))
				put_estimate(csv, matrix, traces, estimate);
		}
	return g_string_free(csv, FALSE);
}

static double estimate_max(const struct matrix *matrix, bool energy)
{
	double max = 0;

	for (guint i = 0; i < matrix->estimates->len; i++) {
		const struct config_estimate *estimate = matrix->estimates->pdata[i];

		max = fmax(max, energy ? estimate->eec_j : estimate->etc_s);
	}
	return max;
}

static bool any_seen(GPtrArray *traces)
{
	for (guint i = 0; i < traces->len; i++) {
		const struct run_trace *trace = traces->pdata[i];

		if (trace->measured && trace->tasks->len)
			return true;
	}
	return false;
}

static bool any_fast(const struct matrix *matrix)
{
	for (guint i = 0; i < matrix->clusters->len; i++)
		if (summary_speed(matrix->speeds, matrix->clusters->pdata[i]) != 1)
			return true;
	return false;
}

static struct chart *make_chart(const struct summary *summary, const struct matrix *matrix,
				GPtrArray *traces, const char *prefix)
{
	struct chart *chart = chart_new("estimates", "%sestimates", prefix);
	bool seen = any_seen(traces);

	chart->title = g_strdup_printf("Execution time and energy per type and cluster: %s",
				       summary->measured ? "measured" : "simulated");
	chart->notes = chart_notes(summary);
	chart->caption = g_strdup_printf(
		"Bars: the estimates that the policies used, with 95 %% intervals of the mean "
		"where they were measured more than once.%s%s",
		seen ? " Diamonds: what completed tasks of the runs took, with the same." : "",
		seen && any_fast(matrix) ? " Seconds of clusters with a speed are simulated ones."
					 : "");
	chart->csv = data(matrix, traces);
	chart_set_texts(chart, "types", matrix->types);
	chart_set_texts(chart, "clusters", matrix->clusters);
	chart_set_number(chart, "slot", GROUP_WIDTH / matrix->clusters->len);
	chart_set_number(chart, "seen", seen);
	chart_set_unit(chart, "time", chart_time_unit, estimate_max(matrix, false));
	chart_set_unit(chart, "energy", chart_energy_unit, estimate_max(matrix, true));
	chart->width = MAX(WIDTH_MIN, 120 + BAR_WIDTH * matrix->estimates->len);
	chart->height = 2 * PANEL_HEIGHT + AROUND_HEIGHT;
	return chart;
}

struct chart *chart_estimates(const struct summary *summary, GPtrArray *traces, const char *prefix,
			      GError **error)
{
	struct matrix matrix = {.estimates = store_estimates(summary->store, error)};
	struct chart *chart = NULL;

	if (!matrix.estimates)
		return NULL;
	matrix.speeds = store_get_document(summary->store, "capabilities");
	matrix.types = g_ptr_array_new();
	matrix.clusters = g_ptr_array_new();
	for (guint i = 0; i < matrix.estimates->len; i++) {
		const struct config_estimate *estimate = matrix.estimates->pdata[i];

		summary_note_name(matrix.types, estimate->type);
		summary_note_name(matrix.clusters, estimate->cluster);
	}
	if (matrix.estimates->len)
		chart = make_chart(summary, &matrix, traces, prefix);
	json_decref(matrix.speeds);
	g_ptr_array_unref(matrix.types);
	g_ptr_array_unref(matrix.clusters);
	g_ptr_array_unref(matrix.estimates);
	return chart;
}
