/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/tables.h"

#include <math.h>
#include <stdbool.h>

#include "common/duration.h"
#include "controller/cli/fields.h"

/*
 * A column: its title, and the function that fills its cell from a row's object and the document.
 * With `unless_0` the column is shown only if this number is not 0 in some row.
 */
struct column {
	const char *title;
	enum table_align align;
	void (*fill)(struct table *table, const json_t *object, const json_t *document);
	const char *unless_0;
};

static bool is_shown(const struct column *column, const json_t *rows)
{
	const json_t *object;
	size_t i;

	if (!column->unless_0)
		return true;
	json_array_foreach (rows, i, object)
		if (json_number_value(json_object_get(object, column->unless_0)) != 0)
			return true;
	return false;
}

static struct table *table_of(const struct column *columns, size_t count, const json_t *document,
			      const char *key)
{
	g_autofree const struct column **shown = g_new(const struct column *, count);
	const json_t *rows = json_object_get(document, key);
	struct table *table = table_new();
	const json_t *object;
	size_t shown_count = 0;
	size_t i;

	for (size_t c = 0; c < count; c++)
		if (is_shown(&columns[c], rows))
			shown[shown_count++] = &columns[c];
	for (size_t c = 0; c < shown_count; c++)
		table_column(table, shown[c]->title, shown[c]->align);
	json_array_foreach (rows, i, object) {
		table_row(table);
		for (size_t c = 0; c < shown_count; c++)
			shown[c]->fill(table, object, document);
	}
	return table;
}

/* Cells. */

static void add_line(struct table *table, const json_t *object, const char *key)
{
	g_autofree char *line = field_line(object, key);

	table_text(table, line);
}

static void add_integer(struct table *table, const json_t *object, const char *key)
{
	table_number(table, field_number(object, key), 0);
}

static void add_duration(struct table *table, double seconds)
{
	g_autofree char *text = duration_text(seconds);

	table_text(table, text);
}

#define LINE(name, key)                                                                            \
	static void name(struct table *table, const json_t *object, const json_t *document)        \
	{                                                                                          \
		add_line(table, object, key);                                                      \
	}
#define INTEGER(name, key)                                                                         \
	static void name(struct table *table, const json_t *object, const json_t *document)        \
	{                                                                                          \
		add_integer(table, object, key);                                                   \
	}
#define NUMBER(name, key, decimals)                                                                \
	static void name(struct table *table, const json_t *object, const json_t *document)        \
	{                                                                                          \
		table_number(table, field_number(object, key), decimals);                          \
	}

LINE(fill_name, "name")
LINE(fill_type, "type")
LINE(fill_user, "user")
LINE(fill_state, "state")
LINE(fill_cluster, "cluster")
LINE(fill_host, "host")
LINE(fill_reason, "reason")
LINE(fill_virt_type, "virt_type")
INTEGER(fill_task, "task")
INTEGER(fill_priority, "priority")
INTEGER(fill_suspensions, "suspensions")
INTEGER(fill_nodes, "nodes")
INTEGER(fill_idle, "idle")
INTEGER(fill_busy, "busy")
INTEGER(fill_down, "down")
INTEGER(fill_drained, "drained")
INTEGER(fill_draining, "draining")
INTEGER(fill_cores, "cores")
INTEGER(fill_memory, "memory_mib")
NUMBER(fill_watts, "watts", 1)
NUMBER(fill_idle_w, "idle_w", 1)
NUMBER(fill_cap_w, "cap_w", 1)

/* Tasks. */

/* The time from `key` until now; 0 where the task has no such time. */
static double since(const json_t *task, const json_t *document, const char *key)
{
	const double from_s = field_number(task, key);

	return isfinite(from_s) ? field_number(document, "now_s") - from_s : 0;
}

/*
 * Waiting time over all attempts: the spans in which the task should have had nodes and had none.
 */
static void fill_waited(struct table *table, const json_t *task, const json_t *document)
{
	add_duration(table, field_number(task, "waited_s") + since(task, document, "waits_since_s"));
}

/* Execution time; it stops while the task is suspended. */
static void fill_ran(struct table *table, const json_t *task, const json_t *document)
{
	const double ran_s = field_number(task, "executed_s") + since(task, document, "since_s");

	add_duration(table, ran_s > 0 ? ran_s : (double)NAN);
}

static void fill_left(struct table *table, const json_t *task, const json_t *document)
{
	const bool executes = isfinite(field_number(task, "since_s"));

	add_duration(table, executes ? field_number(task, "expected_end_s") -
					       field_number(document, "now_s")
				     : field_number(task, "left_s"));
}

/* The nodes of the task, "c1/0-1", and why it does not run there, "(no idle nodes)". */
static void fill_where(struct table *table, const json_t *task, const json_t *document)
{
	bool ended = field_state_ended(field_text(task, "state"));
	g_autofree char *why = field_line(task, ended ? "reason" : "why");
	g_autofree char *nodes = field_task_nodes(task);
	g_autoptr(GString) text = g_string_new(nodes);

	if (!g_str_equal(why, "-"))
		g_string_append_printf(text, "%s(%s)", text->len ? " " : "", why);
	else if (json_is_true(json_object_get(task, "held")))
		g_string_append_printf(text, "%s(held)", text->len ? " " : "");
	table_text(table, text->len ? text->str : NULL);
}

struct table *table_of_tasks(const json_t *document)
{
	static const struct column columns[] = {
		{"TASK", TABLE_RIGHT, fill_task},     {"NAME", TABLE_LEFT, fill_name},
		{"TYPE", TABLE_LEFT, fill_type},      {"USER", TABLE_LEFT, fill_user},
		{"PRIO", TABLE_RIGHT, fill_priority, "priority"},
		{"STATE", TABLE_LEFT, fill_state},    {"WAITED", TABLE_RIGHT, fill_waited},
		{"TIME", TABLE_RIGHT, fill_ran},      {"LEFT", TABLE_RIGHT, fill_left},
		{"NODES (WHY)", TABLE_LEFT, fill_where},
	};

	return table_of(columns, G_N_ELEMENTS(columns), document, "tasks");
}

static void fill_held(struct table *table, const json_t *task, const json_t *document)
{
	table_text(table, json_is_true(json_object_get(task, "held")) ? "yes" : "no");
}

struct table *table_of_suspensions(const json_t *document)
{
	static const struct column columns[] = {
		{"TASK", TABLE_RIGHT, fill_task},
		{"TYPE", TABLE_LEFT, fill_type},
		{"STATE", TABLE_LEFT, fill_state},
		{"CLUSTER", TABLE_LEFT, fill_cluster},
		{"SUSPENSIONS", TABLE_RIGHT, fill_suspensions},
		{"HELD", TABLE_LEFT, fill_held},
	};

	return table_of(columns, G_N_ELEMENTS(columns), document, "tasks");
}

/* Clusters, nodes, hosts. */

static void fill_types(struct table *table, const json_t *cluster, const json_t *document)
{
	g_autofree char *types = field_names(cluster, "types");

	table_text(table, *types ? types : NULL);
}

/* The source of the watts, marked where it is a model. */
static void fill_meter(struct table *table, const json_t *cluster, const json_t *document)
{
	g_autofree char *meter = field_line(cluster, "meter");
	const bool model = g_strcmp0(field_text(cluster, "watts_from"), "model") == 0;

	table_textf(table, "%s%s", meter, model ? " (model)" : "");
}

struct table *table_of_clusters(const json_t *document)
{
	static const struct column columns[] = {
		{"CLUSTER", TABLE_LEFT, fill_cluster}, {"NODES", TABLE_RIGHT, fill_nodes},
		{"IDLE", TABLE_RIGHT, fill_idle},      {"BUSY", TABLE_RIGHT, fill_busy},
		{"DOWN", TABLE_RIGHT, fill_down},      {"DRAINED", TABLE_RIGHT, fill_drained},
		{"DRAINING", TABLE_RIGHT, fill_draining, "draining"},
		{"CORES", TABLE_RIGHT, fill_cores},    {"MIB", TABLE_RIGHT, fill_memory},
		{"VMS", TABLE_LEFT, fill_virt_type},   {"METER", TABLE_LEFT, fill_meter},
		{"TYPES", TABLE_LEFT, fill_types},
	};

	return table_of(columns, G_N_ELEMENTS(columns), document, "clusters");
}

static void fill_node(struct table *table, const json_t *node, const json_t *document)
{
	g_autofree char *cluster = field_line(node, "cluster");

	table_textf(table, "%s/%" JSON_INTEGER_FORMAT, cluster, field_integer(node, "node"));
}

struct table *table_of_nodes(const json_t *document)
{
	static const struct column columns[] = {
		{"NODE", TABLE_LEFT, fill_node},   {"NAME", TABLE_LEFT, fill_name},
		{"HOST", TABLE_LEFT, fill_host},   {"STATE", TABLE_LEFT, fill_state},
		{"TASK", TABLE_RIGHT, fill_task},  {"REASON", TABLE_LEFT, fill_reason},
	};

	return table_of(columns, G_N_ELEMENTS(columns), document, "nodes");
}

struct table *table_of_power(const json_t *document)
{
	static const struct column columns[] = {
		{"HOST", TABLE_LEFT, fill_host},
		{"WATTS", TABLE_RIGHT, fill_watts},
		{"IDLE W", TABLE_RIGHT, fill_idle_w},
		{"CAP W", TABLE_RIGHT, fill_cap_w},
	};

	return table_of(columns, G_N_ELEMENTS(columns), document, "hosts");
}

/* Decisions. */

/*
 * The numbers that an action may have (docs/reference/snapshot.md). Times of the run also have a
 * title for their UTC column.
 */
static const struct number {
	const char *key;
	const char *title;
	int decimals;
	const char *utc;
} numbers[] = {
	{"start_s", "START S", 1, "START UTC"}, {"end_s", "END S", 1, "END UTC"},
	{"yield", "YIELD", 3},		{"energy_j", "ENERGY J", 1},
	{"utility", "UTILITY", 3},	{"objective", "OBJECTIVE", 6},
	{"chance", "CHANCE", 3},	{"threshold", "THRESHOLD", 3},
};

static bool any_has(const json_t *decisions, const char *key)
{
	const json_t *decision;
	size_t i;

	json_array_foreach (decisions, i, decision)
		if (isfinite(field_number(json_object_get(decision, "action"), key)))
			return true;
	return false;
}

/* Whether two decisions differ at most in their numbers. */
static bool same_decision(const json_t *one, const json_t *other)
{
	static const char *const keys[] = {"kind", "cluster", "nodes", "reason"};

	one = json_object_get(one, "action");
	other = json_object_get(other, "action");
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		const json_t *a = json_object_get(one, keys[i]);
		const json_t *b = json_object_get(other, keys[i]);

		if (a != b && !json_equal(a, b))
			return false;
	}
	return true;
}

/* Adds the UTC of a time of the run; "-" where the decision's UTC is unknown. */
static void add_utc(struct table *table, const json_t *decision, double time_s)
{
	g_autofree char *utc = field_utc(decision, time_s - field_number(decision, "time_s"));

	table_text(table, utc);
}

static void add_decision(struct table *table, const json_t *decision, json_int_t times,
			 const bool *shown)
{
	const json_t *action = json_object_get(decision, "action");
	g_autofree char *cluster = field_line(action, "cluster");
	g_autofree char *nodes = field_nodes(action, "nodes");

	table_row(table);
	table_number(table, field_number(decision, "time_s"), 1);
	add_utc(table, decision, field_number(decision, "time_s"));
	table_integer(table, times);
	add_line(table, action, "kind");
	table_textf(table, "%s%s%s", cluster, *nodes ? "/" : "", nodes);
	for (size_t n = 0; n < G_N_ELEMENTS(numbers); n++) {
		const double value = field_number(action, numbers[n].key);

		if (!shown[n])
			continue;
		table_number(table, value, numbers[n].decimals);
		if (numbers[n].utc)
			add_utc(table, decision, value);
	}
	add_line(table, action, "reason");
}

struct table *table_of_decisions(const json_t *document)
{
	const json_t *decisions = json_object_get(document, "decisions");
	struct table *table = table_new();
	bool shown[G_N_ELEMENTS(numbers)];
	size_t count = json_array_size(decisions);

	table_column(table, "TIME S", TABLE_RIGHT);
	table_column(table, "UTC", TABLE_LEFT);
	table_column(table, "TIMES", TABLE_RIGHT);
	table_column(table, "DECISION", TABLE_LEFT);
	table_column(table, "NODES", TABLE_LEFT);
	for (size_t n = 0; n < G_N_ELEMENTS(numbers); n++) {
		shown[n] = any_has(decisions, numbers[n].key);
		if (shown[n])
			table_column(table, numbers[n].title, TABLE_RIGHT);
		if (shown[n] && numbers[n].utc)
			table_column(table, numbers[n].utc, TABLE_LEFT);
	}
	table_column(table, "REASON", TABLE_LEFT);
	for (size_t i = 0, next; i < count; i = next) {
		const json_t *decision = json_array_get(decisions, i);

		for (next = i + 1; next < count; next++)
			if (!same_decision(decision, json_array_get(decisions, next)))
				break;
		add_decision(table, decision, (json_int_t)(next - i), shown);
	}
	return table;
}
