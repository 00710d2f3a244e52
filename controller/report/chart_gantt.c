/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "common/config/config.h"
#include "common/json.h"
#include "common/read_number.h"
#include "controller/report/charts.h"
#include "controller/report/csv.h"

/* Pixels: a row if there are few, the most of all rows, and the space around them. */
enum { ROW_HEIGHT = 24, ROWS_HEIGHT_MAX = 1200, AROUND_HEIGHT = 150, WIDTH = 820 };

/* Up to so many rows each is labelled; with more, the first of each cluster. */
enum { LABELLED_ROWS_MAX = 50 };

/* The nodes of a cluster are neighbouring rows, with a gap of half a row to the next cluster. */
struct lane {
	char *cluster;
	guint nodes;
	double first; /* row of node 0 */
};

/* The look of a bar by the task's state, in the order of the key. */
struct look {
	const char *state;
	const char *fill;
	const char *title; /* for the key; NULL: the plain look that the types show */
};

static const struct look looks[] = {
	{"completed", "solid 0.75", NULL},
	{"unfinished", "solid 0.2", "unfinished when the run ended"},
	{"failed", "pattern 4", "failed"},
	{"killed", "pattern 6", "killed"},
};

/* Below the nodes are rows for dropped tasks and lost attempts. */
struct chart_rows {
	GArray *lanes;     /* struct lane */
	GPtrArray *types;  /* const char *, borrowed from the tasks */
	double dropped;    /* row; NAN: none */
	double lost;       /* row; NAN: none */
	double last;       /* the lowest row */
};

static void clear_lane(gpointer data)
{
	g_free(((struct lane *)data)->cluster);
}

static struct lane *lane_of(const struct chart_rows *rows, const char *cluster)
{
	for (guint i = 0; i < rows->lanes->len; i++) {
		struct lane *lane = &g_array_index(rows->lanes, struct lane, i);

		if (g_strcmp0(lane->cluster, cluster) == 0)
			return lane;
	}
	return NULL;
}

static void need_node(struct chart_rows *rows, const char *cluster, guint nodes)
{
	struct lane *lane = lane_of(rows, cluster);
	struct lane fresh = {.nodes = nodes};

	if (lane) {
		lane->nodes = MAX(lane->nodes, nodes);
		return;
	}
	fresh.cluster = g_strdup(cluster);
	g_array_append_val(rows->lanes, fresh);
}

/* Nodes that never executed a task have rows too, if the configuration is there to name them. */
static void take_configured(struct chart_rows *rows, const struct summary *summary)
{
	g_autoptr(config_t) config = summary_config(summary, NULL);

	for (uint32_t i = 0; config && i < config->clusters_count; i++)
		need_node(rows, config->clusters[i].name, config->clusters[i].nodes);
}

/* Larger numbers are no nodes. */
#define NODE_MAX 999999

/* The node numbers of a task, from "0,1". */
static GArray *nodes_of(const struct store_task *task)
{
	g_auto(GStrv) parts = g_strsplit(task->nodes ? task->nodes : "", ",", -1);
	GArray *nodes = g_array_new(FALSE, FALSE, sizeof(guint));

	for (char **part = parts; *part; part++) {
		uint64_t number;
		guint node;

		if (!read_number_unsigned(*part, 0, NODE_MAX, &number))
			continue;
		node = (guint)number;
		g_array_append_val(nodes, node);
	}
	return nodes;
}

static bool has_event(const struct run_trace *trace, const char *kind)
{
	for (guint i = 0; i < trace->events->len; i++)
		if (g_strcmp0(((struct store_event *)trace->events->pdata[i])->kind, kind) == 0)
			return true;
	return false;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void find_rows(struct chart_rows *rows, const struct summary *summary,
		      const struct run_trace *trace)
{
	bool dropped = false;
	double next = 0;

	rows->lanes = g_array_new(FALSE, FALSE, sizeof(struct lane));
	g_array_set_clear_func(rows->lanes, clear_lane);
	rows->types = g_ptr_array_new();
	take_configured(rows, summary);
	for (guint i = 0; i < trace->tasks->len; i++) {
		const struct store_task *task = trace->tasks->pdata[i];
		g_autoptr(GArray) nodes = nodes_of(task);

		summary_note_name(rows->types, task->type ?: "?");
		dropped = dropped || g_strcmp0(task->state, "dropped") == 0;
		for (guint j = 0; task->cluster && j < nodes->len; j++)
			need_node(rows, task->cluster, g_array_index(nodes, guint, j) + 1);
	}
	g_ptr_array_sort(rows->types, by_name);
	for (guint i = 0; i < rows->lanes->len; i++) {
		struct lane *lane = &g_array_index(rows->lanes, struct lane, i);

		lane->first = next;
		next += lane->nodes + 0.5;
	}
	rows->dropped = dropped ? next++ : (double)NAN;
	rows->lost = has_event(trace, "lost") ? next++ : (double)NAN;
	rows->last = next - 1;
}

static void rows_clear(struct chart_rows *rows)
{
	g_array_unref(rows->lanes);
	g_ptr_array_unref(rows->types);
}

/* Data. */

static void put_row(GString *csv, const struct store_task *task, const char *node, double row,
		    double start_s, double end_s, const char *state)
{
	csv_integer(csv, task->task);
	csv_text(csv, task->type ? task->type : "?");
	csv_text(csv, state);
	csv_text(csv, node ? task->cluster : NULL);
	csv_text(csv, node);
	csv_number(csv, row);
	csv_number(csv, start_s);
	csv_number(csv, end_s);
	csv_number(csv, task->utility);
	csv_number(csv, task->utility_max);
	csv_end(csv);
}

/* The state that a bar shows; a task that was running when the run was read is unfinished. */
static const char *shown_state(const char *state)
{
	for (gsize i = 0; i < G_N_ELEMENTS(looks); i++)
		if (g_strcmp0(state, looks[i].state) == 0)
			return looks[i].state;
	return "unfinished";
}

static void put_task(GString *csv, const struct chart_rows *rows, const struct run_trace *trace,
		     const struct store_task *task)
{
	double end_s = run_trace_task_end_s(trace, task);
	const struct lane *lane = task->cluster ? lane_of(rows, task->cluster) : NULL;
	g_autoptr(GArray) nodes = nodes_of(task);

	if (g_strcmp0(task->state, "dropped") == 0) {
		put_row(csv, task, NULL, rows->dropped, (double)NAN,
			isfinite(task->ended_s) ? task->ended_s : task->arrival_s, "dropped");
		return;
	}
	if (!lane || !isfinite(end_s))
		return;
	for (guint i = 0; i < nodes->len; i++) {
		guint node = g_array_index(nodes, guint, i);
		g_autofree char *name = g_strdup_printf("%u", node);

		put_row(csv, task, name, lane->first + node, task->started_s, end_s,
			shown_state(task->state));
	}
}

/* Adds the lost attempts: {"task": ., "attempt": ., "reason": .}. */
static void put_lost(GString *csv, const struct chart_rows *rows, const struct run_trace *trace)
{
	for (guint i = 0; i < trace->events->len; i++) {
		const struct store_event *event = trace->events->pdata[i];
		g_autoptr(json_t) detail = NULL;
		const json_t *number;

		if (g_strcmp0(event->kind, "lost") != 0 || !event->detail)
			continue;
		detail = json_loads(event->detail, 0, NULL);
		number = json_object_get(detail, "task");
		for (guint j = 0; json_is_integer(number) && j < trace->tasks->len; j++) {
			const struct store_task *task = trace->tasks->pdata[j];

			if (task->task == json_integer_value(number))
				put_row(csv, task, NULL, rows->lost, (double)NAN, event->time_s,
					"lost");
		}
	}
}

static char *data(const struct chart_rows *rows, const struct run_trace *trace)
{
	GString *csv = g_string_new(
		"task,type,state,cluster,node,row,start_s,end_s,utility,utility_max\n");

	for (guint i = 0; i < trace->tasks->len; i++)
		put_task(csv, rows, trace, trace->tasks->pdata[i]);
	put_lost(csv, rows, trace);
	return g_string_free(csv, FALSE);
}

/* Script. */

static void put_tics(GString *text, const struct chart_rows *rows)
{
	const char *separator = "";

	g_string_append(text, "set ytics (");
	for (guint i = 0; i < rows->lanes->len; i++) {
		const struct lane *lane = &g_array_index(rows->lanes, struct lane, i);

		for (guint j = 0; j < lane->nodes; j++) {
			g_autofree char *label = g_strdup_printf("%s n%u", lane->cluster, j);
			g_autofree char *label_quoted = chart_quoted(label);

			if (j && rows->last > LABELLED_ROWS_MAX)
				break;
			g_string_append_printf(text, "%s%s %.1f", separator, label_quoted,
					       lane->first + j);
			separator = ", ";
		}
	}
	if (isfinite(rows->dropped))
		g_string_append_printf(text, "%s'dropped' %.1f", separator, rows->dropped);
	if (isfinite(rows->lost))
		g_string_append_printf(text, ", 'lost' %.1f", rows->lost);
	g_string_append(text, ") scale 0\n");
}

/* A thin line between clusters. */
static void put_rules(GString *text, const struct chart_rows *rows)
{
	for (guint i = 0; i < rows->lanes->len; i++) {
		const struct lane *lane = &g_array_index(rows->lanes, struct lane, i);
		double y = lane->first + lane->nodes - 0.25;

		if (y < rows->last)
			g_string_append_printf(text,
					       "set arrow from graph 0,first %.2f to graph 1,first "
					       "%.2f nohead lc rgb '#a0a0a0' lw 0.5 back\n",
					       y, y);
	}
}

static void put_bars(GString *text, const struct chart_rows *rows, const char *type,
		     guint32 colour)
{
	g_autofree char *type_quoted = chart_quoted(type);

	for (gsize i = 0; i < G_N_ELEMENTS(looks); i++)
		g_string_append_printf(
			text,
			"  data using (bar(%s, '%s')):(column('row')):(t('start_s')):"
			"(t('end_s')):(column('row') - 0.4):(column('row') + 0.4) "
			"with boxxyerror fs %s border lc rgb '#%06x' lc rgb '#%06x' %s%s, \\\n",
			type_quoted, looks[i].state, looks[i].fill, colour, colour,
			looks[i].title ? "no" : "title ", looks[i].title ? "title" : type_quoted);
	if (isfinite(rows->dropped) || isfinite(rows->lost))
		g_string_append_printf(
			text,
			"  data using (mark(%s)):(column('row')) with points pt 2 ps 0.9 lw 1.6 "
			"lc rgb '#%06x' notitle, \\\n",
			type_quoted, colour);
}

static bool has_state(const struct run_trace *trace, const char *state)
{
	for (guint i = 0; i < trace->tasks->len; i++) {
		const struct store_task *task = trace->tasks->pdata[i];

		if (isfinite(run_trace_task_end_s(trace, task)) &&
		    g_str_equal(shown_state(task->state), state))
			return true;
	}
	return false;
}

static void put_plot(GString *text, const struct chart_rows *rows, const struct run_trace *trace)
{
	g_string_append(text, "plot \\\n");
	for (guint i = 0; i < rows->types->len; i++)
		put_bars(text, rows, rows->types->pdata[i], chart_colour(i));
	/* These draw nothing but entries of the key. */
	for (gsize i = 0; i < G_N_ELEMENTS(looks); i++)
		if (looks[i].title && has_state(trace, looks[i].state))
			g_string_append_printf(text,
					       "  NaN with boxes fs %s border lc rgb '#606060' "
					       "lc rgb '#606060' title '%s', \\\n",
					       looks[i].fill, looks[i].title);
	g_string_append(text,
			"  data using (wide(1) ? (t('start_s') + t('end_s')) / 2 : NaN):"
			"(column('row')):(strcol('task')) with labels font ',8' "
			"tc rgb '#000001' notitle\n");
}

static char *script(const struct chart_rows *rows, const struct run_trace *trace)
{
	GString *text = g_string_new(NULL);
	double end_s = fmax(trace->run->ended_s, 1e-3);

	chart_put_time(text, end_s);
	g_string_append_printf(
		text,
		"t(name) = time_scale * column(name)\n"
		"# Where a bar of a type with an outcome stands; elsewhere it is not drawn.\n"
		"bar(type, state) = strcol('type') eq type && strcol('state') eq state && "
		"strcol('node') ne '' ? (t('start_s') + t('end_s')) / 2 : NaN\n"
		"mark(type) = strcol('type') eq type && strcol('node') eq '' ? t('end_s') : "
		"NaN\n"
		"# Bars that have room for the number of their task.\n"
		"wide(x) = strcol('node') ne '' && t('end_s') - t('start_s') > "
		"time_scale * %.4f * strlen(strcol('task'))\n\n"
		"set title heading font ',9'\n"
		/* The empty line separates the key from the label. */
		"set xlabel since.\"\\n \"\n"
		"set xrange [0:time_scale * %.10g]\n"
		"set yrange [%.2f:-0.75]\n",
		0.009 * end_s, 1.005 * end_s, rows->last + 0.75);
	put_tics(text, rows);
	put_rules(text, rows);
	g_string_append_printf(text,
			       "set arrow from first time_scale * %.6f,graph 0 to first "
			       "time_scale * %.6f,graph 1 nohead lc rgb '#606060' front\n"
			       "set grid xtics lc rgb '#d0d0d0' lw 0.5\n"
			       "set border 3 lc rgb '#606060'\n"
			       "set xtics nomirror\n"
			       CHART_KEY "\n\n",
			       end_s, end_s);
	put_plot(text, rows, trace);
	return g_string_free(text, FALSE);
}

static char *title(const struct summary *summary, const struct store_run *run)
{
	g_autofree char *name = chart_run_title(summary, run);

	return g_strdup_printf("Tasks on their nodes: %s", name);
}

struct chart *chart_gantt(const struct summary *summary, const struct run_trace *trace,
			  const char *prefix)
{
	g_autofree char *stem = chart_run_stem(trace->run);
	struct chart_rows rows = {0};
	struct chart *chart;

	if (trace->tasks->len == 0 || !isfinite(trace->run->ended_s))
		return NULL;
	find_rows(&rows, summary, trace);
	chart = chart_new("%sgantt-%s", prefix, stem);
	chart->title = title(summary, trace->run);
	chart->notes = chart_notes(summary);
	chart->caption = g_strdup(
		"A bar is a task on a node, with its number, coloured by its type; full: "
		"completed, pale or hatched: as the key says. A cross is a task that was dropped, "
		"or an attempt that was lost. The line on the right is the end of the run.");
	chart->csv = data(&rows, trace);
	chart->script = script(&rows, trace);
	chart->width = WIDTH;
	chart->height =
		AROUND_HEIGHT + (guint)MIN((rows.last + 1.5) * ROW_HEIGHT, ROWS_HEIGHT_MAX);
	rows_clear(&rows);
	return chart;
}
