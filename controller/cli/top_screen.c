/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/top_screen.h"

#include <glib.h>
#include <math.h>

#include "common/json.h"
#include "common/visible.h"
#include "controller/cli/energy_window.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"

#define BAR_WIDTH 30

/* The most nodes of a cluster that are drawn one by one; larger clusters show only counts. */
#define NODES_DRAWN 60

static void append_number(GString *text, const char *before, double value, const char *after)
{
	if (isfinite(value))
		g_string_append_printf(text, "%s%.1f%s", before, value, after);
}

/* Watts of all hosts together; NAN where a host's are unknown. */
static double watts(const json_t *power)
{
	const json_t *host;
	double sum = json_array_size(json_object_get(power, "hosts")) ? 0 : (double)NAN;
	size_t i;

	json_array_foreach (json_object_get(power, "hosts"), i, host)
		sum += field_number(host, "watts");
	return sum;
}

/* "easy decided 3: 2 late, 1 died"; nothing where the program decided all. */
static void append_failed(GString *text, const json_t *program)
{
	g_autofree char *fallback = field_line(program, "fallback");
	const json_int_t failed = field_integer(program, "events") - field_integer(program, "used");
	const char *between = ":";
	const char *reason;
	json_t *count;

	if (failed <= 0)
		return;
	g_string_append_printf(text, "; %s decided %" JSON_INTEGER_FORMAT, fallback, failed);
	json_object_foreach (json_object_get(program, "failed"), reason, count)
		if (json_integer_value(count) > 0) {
			g_string_append_printf(text, "%s %" JSON_INTEGER_FORMAT " %s", between,
					       json_integer_value(count), reason);
			between = ",";
		}
}

/* The program of a policy from outside. */
static void append_program(GString *text, const json_t *program)
{
	g_autofree char *name = field_line(program, "name");
	g_autofree char *state = field_line(program, "state");

	g_string_append_printf(text,
			       "program: %s, %s; used in %" JSON_INTEGER_FORMAT
			       " of %" JSON_INTEGER_FORMAT " events",
			       name,
			       g_strcmp0(state, "disabled") == 0 ? "disabled until a reload"
								 : state,
			       field_integer(program, "used"), field_integer(program, "events"));
	append_failed(text, program);
	append_number(text, "; ", 1000 * field_number(program, "event_mean_s"), " ms an event");
	append_number(text, ", computing ", 1000 * field_number(program, "compute_mean_s"), " ms");
	g_string_append_c(text, '\n');
}

static void append_head(GString *text, const struct top_screen *screen)
{
	const json_t *status = screen->status;
	g_autofree char *phase = field_line(status, "phase");
	g_autofree char *policy = field_line(status, "policy");
	g_autofree char *up = visible_duration(field_number(status, "time_s"));
	g_autofree char *window = energy_window_line(json_object_get(screen->power, "window"),
						     field_number(screen->power, "now_s"));

	g_string_append_printf(text, "virtbed: %s, policy %s, for %s", phase, policy, up);
	append_number(text, "; ", watts(screen->power), " W");
	append_number(text, "; dynamic energy ", field_number(status, "energy_j"), " J");
	if (field_number(status, "limit_j") > 0)
		append_number(text, " of ", field_number(status, "limit_j"), " J");
	append_number(text, "; utility ", field_number(status, "utility"), "");
	g_string_append_printf(text,
			       "\ntasks: %" JSON_INTEGER_FORMAT " running, %" JSON_INTEGER_FORMAT
			       " waiting, %" JSON_INTEGER_FORMAT " suspended, %" JSON_INTEGER_FORMAT
			       " completed\n",
			       field_integer(status, "running"), field_integer(status, "waiting"),
			       field_integer(status, "suspended"),
			       field_integer(status, "completed"));
	if (json_is_object(json_object_get(status, "program")))
		append_program(text, json_object_get(status, "program"));
	if (window)
		g_string_append_printf(text, "%s\n", window);
}

/* `table` is taken over. */
static void append_table(GString *text, table_t *of)
{
	g_autoptr(table_t) table = of;
	g_autofree char *lines = table_format(table, 0);

	g_string_append_printf(text, "\n%s", lines);
}

/* Clusters. */

static char node_letter(const json_t *node)
{
	static const struct {
		const char *state;
		char letter;
	} letters[] = {
		{"idle", '.'}, {"busy", '#'}, {"down", 'x'}, {"drained", 'd'}, {"draining", 'D'}};

	for (size_t i = 0; i < G_N_ELEMENTS(letters); i++)
		if (g_strcmp0(field_text(node, "state"), letters[i].state) == 0)
			return letters[i].letter;
	return '?';
}

/* A letter for each node of the cluster. */
static char *draw_nodes(const json_t *nodes, const char *cluster)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const json_t *node;
	size_t i;

	json_array_foreach (json_object_get(nodes, "nodes"), i, node)
		if (g_strcmp0(field_text(node, "cluster"), cluster) == 0)
			g_string_append_c(text, node_letter(node));
	return text->len <= NODES_DRAWN ? g_strdup(text->str) : g_strdup("");
}

static void fill_drawn(struct table *table, const json_t *cluster, const json_t *document)
{
	g_autofree char *drawn = draw_nodes(document, field_text(cluster, "cluster"));

	table_text(table, drawn);
}

static void append_clusters(GString *text, const struct top_screen *screen)
{
	static const struct tables_column columns[] = {
		{"<CLUSTER", "cluster"},
		{">NODES", "nodes"},
		{">IDLE", "idle"},
		{">BUSY", "busy"},
		{">DOWN", "down"},
		{">DRAINED", "drained"},
		{">DRAINING", "draining", .unless_0 = true},
		{"<# busy  . idle  d drained  D draining  x down", .fill = fill_drawn},
	};
	g_autoptr(json_t) document =
		json_pack("{s:O?, s:O?}", "clusters", json_object_get(screen->clusters, "clusters"),
			  "nodes", json_object_get(screen->nodes, "nodes"));

	append_table(text, table_of_rows(columns, G_N_ELEMENTS(columns), document, "clusters"));
}

/* Power. */

/* The highest power or cap of any host. */
static double largest_w(const json_t *power)
{
	const json_t *host;
	double largest = 0;
	size_t i;

	json_array_foreach (json_object_get(power, "hosts"), i, host)
		largest = fmax(largest,
			       fmax(field_number(host, "watts"), field_number(host, "cap_w")));
	return largest;
}

/* "=====####": idle watts, and the watts above them; the document's "full_w" is the whole width. */
static void fill_bar(struct table *table, const json_t *host, const json_t *document)
{
	g_autoptr(GString) bar = g_string_new(NULL);
	double full_w = field_number(document, "full_w");
	double now_w = field_number(host, "watts");
	double idle_w = field_number(host, "idle_w");
	long cells = full_w > 0 && now_w > 0 ? lround(now_w / full_w * BAR_WIDTH) : 0;
	long idle =
		full_w > 0 && idle_w > 0 ? lround(fmin(idle_w, full_w) / full_w * BAR_WIDTH) : 0;

	for (long i = 0; i < cells; i++)
		g_string_append_c(bar, i < idle ? '=' : '#');
	table_text(table, bar->str);
}

static void append_power(GString *text, const struct top_screen *screen)
{
	static const struct tables_column columns[] = {
		{"<HOST", "host"},
		{">WATTS", "watts", 1},
		{">IDLE W", "idle_w", 1},
		{">CAP W", "cap_w", 1},
		{"<= idle  # above", .fill = fill_bar},
	};
	g_autoptr(json_t) document =
		json_pack("{s:O?, s:f}", "hosts", json_object_get(screen->power, "hosts"), "full_w",
			  largest_w(screen->power));

	append_table(text, table_of_rows(columns, G_N_ELEMENTS(columns), document, "hosts"));
}

/*
 * Adds the tasks, those with nodes first, and the number of tasks that the controller's answer left
 * out.
 */
static void append_tasks(GString *text, const struct top_screen *screen)
{
	g_autoptr(json_t) on_nodes = json_array();
	g_autoptr(json_t) others = json_array();
	g_autoptr(json_t) document = json_deep_copy(screen->tasks);
	const json_int_t more = field_integer(screen->tasks, "more");
	json_t *task;
	size_t i;

	json_array_foreach (json_object_get(document, "tasks"), i, task)
		if (!field_state_ended(field_text(task, "state")))
			json_array_append(isfinite(field_number(task, "started_s")) &&
							  !isfinite(field_number(task,
										 "waits_since_s"))
						  ? on_nodes
						  : others,
					  task);
	json_array_extend(on_nodes, others);
	json_object_set(document, "tasks", on_nodes);
	append_table(text, table_of_tasks(document));
	if (more > 0)
		g_string_append_printf(text,
				       "+ %" JSON_INTEGER_FORMAT
				       " more tasks; virtbed queue lists all\n",
				       more);
}

/* Cuts the text to the screen. */
static char *fit(const char *text, int columns, int rows)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	GString *fitting = g_string_new(NULL);
	guint count = g_strv_length(lines) - 1; /* the text after the last newline is empty */
	guint shown = rows > 0 && count > (guint)rows ? (guint)rows - 1 : count;

	for (guint i = 0; i < shown; i++) {
		g_autofree char *whole = visible_text(lines[i]);
		glong length = g_utf8_strlen(whole, -1);
		g_autofree char *line =
			g_utf8_substring(whole, 0, columns > 0 ? MIN(length, columns) : length);

		g_string_append_printf(fitting, "%s\n", line);
	}
	if (shown < count)
		g_string_append_printf(fitting, "+ %u more lines\n", count - shown);
	return g_string_free(fitting, FALSE);
}

char *top_screen_text(const struct top_screen *screen, int columns, int rows)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (screen->status)
		append_head(text, screen);
	if (screen->note)
		g_string_append_printf(text, "%s\n", screen->note);
	if (screen->clusters)
		append_clusters(text, screen);
	if (screen->power)
		append_power(text, screen);
	if (screen->tasks)
		append_tasks(text, screen);
	return fit(text->str, columns, rows);
}
