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

/* The states that bars show, in the order of the key (gantt.gp). */
static const char *const states[] = {"completed", "unfinished", "failed", "killed"};

/*
 * The nodes of a cluster are neighbouring rows, with a gap of half a row to the next cluster. Below
 * them are rows for dropped tasks and lost attempts.
 */
struct chart_rows {
	GPtrArray *clusters; /* char * */
	GArray *nodes;       /* double: the number of nodes of each cluster */
	GPtrArray *types;    /* const char *, borrowed from the tasks */
	GArray *bars;        /* double: the number of tasks with bars of each state */
	double dropped;      /* row; NAN: none */
	double lost;         /* row; NAN: none */
	double last;         /* the lowest row */
};

static bool find_cluster(const struct chart_rows *rows, const char *cluster, guint *ret_index)
{
	return g_ptr_array_find_with_equal_func(rows->clusters, cluster, g_str_equal, ret_index);
}

static void need_node(struct chart_rows *rows, const char *cluster, guint nodes)
{
	guint index = rows->clusters->len;
	double *known;

	if (!find_cluster(rows, cluster, &index)) {
		g_ptr_array_add(rows->clusters, g_strdup(cluster));
		g_array_set_size(rows->nodes, index + 1);
	}
	known = &g_array_index(rows->nodes, double, index);
	*known = fmax(*known, nodes);
}

/* The row of node 0 of a cluster; of the number of clusters, the first row below all nodes. */
static double first_row(const struct chart_rows *rows, guint cluster)
{
	double row = 0;

	for (guint i = 0; i < cluster; i++)
		row += g_array_index(rows->nodes, double, i) + 0.5;
	return row;
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
	double next;

	rows->clusters = g_ptr_array_new_with_free_func(g_free);
	rows->nodes = g_array_new(FALSE, TRUE, sizeof(double));
	rows->bars = g_array_new(FALSE, TRUE, sizeof(double));
	g_array_set_size(rows->bars, G_N_ELEMENTS(states));
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
	next = first_row(rows, rows->clusters->len);
	rows->dropped = dropped ? next++ : (double)NAN;
	rows->lost = has_event(trace, "lost") ? next++ : (double)NAN;
	rows->last = next - 1;
}

static void rows_clear(struct chart_rows *rows)
{
	g_ptr_array_unref(rows->clusters);
	g_array_unref(rows->nodes);
	g_array_unref(rows->bars);
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
static guint shown_state(const char *state)
{
	for (guint i = 0; i < G_N_ELEMENTS(states); i++)
		if (g_strcmp0(state, states[i]) == 0)
			return i;
	return 1;
}

static void put_task(GString *csv, struct chart_rows *rows, const struct run_trace *trace,
		     const struct store_task *task)
{
	double end_s = run_trace_task_end_s(trace, task);
	const guint state = shown_state(task->state);
	g_autoptr(GArray) nodes = nodes_of(task);
	guint cluster;

	if (g_strcmp0(task->state, "dropped") == 0) {
		put_row(csv, task, NULL, rows->dropped, (double)NAN,
			isfinite(task->ended_s) ? task->ended_s : task->arrival_s, "dropped");
		return;
	}
	if (!task->cluster || !isfinite(end_s) || !find_cluster(rows, task->cluster, &cluster))
		return;
	g_array_index(rows->bars, double, state)++;
	for (guint i = 0; i < nodes->len; i++) {
		guint node = g_array_index(nodes, guint, i);
		g_autofree char *name = g_strdup_printf("%u", node);

		put_row(csv, task, name, first_row(rows, cluster) + node, task->started_s, end_s,
			states[state]);
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

static char *data(struct chart_rows *rows, const struct run_trace *trace)
{
	GString *csv = g_string_new(
		"task,type,state,cluster,node,row,start_s,end_s,utility,utility_max\n");

	for (guint i = 0; i < trace->tasks->len; i++)
		put_task(csv, rows, trace, trace->tasks->pdata[i]);
	put_lost(csv, rows, trace);
	return g_string_free(csv, FALSE);
}

static void set_variables(struct chart *chart, const struct chart_rows *rows, double end_s)
{
	chart_set_texts(chart, "clusters", rows->clusters);
	chart_set_numbers(chart, "nodes", rows->nodes);
	chart_set_number(chart, "dropped", rows->dropped);
	chart_set_number(chart, "lost", rows->lost);
	chart_set_number(chart, "last", rows->last);
	chart_set_texts(chart, "types", rows->types);
	chart_set_numbers(chart, "bars", rows->bars);
	chart_set_time(chart, end_s);
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
	chart = chart_new("gantt", "%sgantt-%s", prefix, stem);
	chart->title = title(summary, trace->run);
	chart->notes = chart_notes(summary);
	chart->caption = g_strdup(
		"A bar is a task on a node, with its number, coloured by its type; full: "
		"completed, pale or hatched: as the key says. A cross is a task that was dropped, "
		"or an attempt that was lost. The line on the right is the end of the run.");
	chart->csv = data(&rows, trace);
	set_variables(chart, &rows, trace->run->ended_s);
	chart->width = WIDTH;
	chart->height = AROUND_HEIGHT + (guint)MIN((rows.last + 1.5) * ROW_HEIGHT, ROWS_HEIGHT_MAX);
	rows_clear(&rows);
	return chart;
}
