/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/tables.h"

#include <math.h>

#include "common/visible.h"
#include "controller/cli/fields.h"

static bool is_shown(const struct tables_column *column, const json_t *rows)
{
	const json_t *object;
	size_t i;

	if (!column->unless_0)
		return true;
	json_array_foreach (rows, i, object)
		if (json_number_value(json_object_get(object, column->key)) != 0)
			return true;
	return false;
}

static void add_line(struct table *table, const json_t *object, const char *key)
{
	g_autofree char *line = field_line(object, key);

	table_text(table, line);
}

struct table *table_of_rows(const struct tables_column *columns, size_t count,
			    const json_t *document, const char *key)
{
	g_autofree const struct tables_column **shown = g_new(const struct tables_column *, count);
	const json_t *rows = json_object_get(document, key);
	struct table *table = table_new();
	const json_t *object;
	size_t shown_count = 0;
	size_t i;

	for (const struct tables_column *column = columns; column < columns + count; column++) {
		if (!is_shown(column, rows))
			continue;
		shown[shown_count++] = column;
		table_column(table, column->title + 1,
			     *column->title == '>' ? TABLE_RIGHT : TABLE_LEFT);
	}
	json_array_foreach (rows, i, object) {
		table_row(table);
		for (size_t c = 0; c < shown_count; c++) {
			if (shown[c]->fill)
				shown[c]->fill(table, object, document);
			else if (*shown[c]->title == '>')
				table_number(table, field_number(object, shown[c]->key),
					     shown[c]->decimals);
			else
				add_line(table, object, shown[c]->key);
		}
	}
	return table;
}

static void add_duration(struct table *table, double seconds)
{
	g_autofree char *text = visible_duration(seconds);

	table_text(table, text);
}

/* Tasks. */

/*
 * Waiting time over all attempts: the spans in which the task should have had nodes and had none.
 */
static void fill_waited(struct table *table, const json_t *task, const json_t *document)
{
	add_duration(table, field_length_s(task, "waited_s", "waits_since_s",
					   field_number(document, "now_s")));
}

/* Execution time; it stops while the task is suspended. */
static void fill_ran(struct table *table, const json_t *task, const json_t *document)
{
	const double ran_s =
		field_length_s(task, "executed_s", "since_s", field_number(document, "now_s"));

	add_duration(table, ran_s > 0 ? ran_s : (double)NAN);
}

static void fill_left(struct table *table, const json_t *task, const json_t *document)
{
	add_duration(table, field_left_s(task, field_number(document, "now_s")));
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
	static const struct tables_column columns[] = {
		{">TASK", "task"},
		{"<NAME", "name"},
		{"<TYPE", "type"},
		{"<USER", "user"},
		{">PRIO", "priority", .unless_0 = true},
		{"<STATE", "state"},
		{">WAITED", .fill = fill_waited},
		{">TIME", .fill = fill_ran},
		{">LEFT", .fill = fill_left},
		{"<NODES (WHY)", .fill = fill_where},
	};

	return table_of_rows(columns, G_N_ELEMENTS(columns), document, "tasks");
}

static void fill_held(struct table *table, const json_t *task, const json_t *document)
{
	table_text(table, json_is_true(json_object_get(task, "held")) ? "yes" : "no");
}

struct table *table_of_suspensions(const json_t *document)
{
	static const struct tables_column columns[] = {
		{">TASK", "task"},
		{"<TYPE", "type"},
		{"<STATE", "state"},
		{"<CLUSTER", "cluster"},
		{">SUSPENSIONS", "suspensions"},
		{"<HELD", .fill = fill_held},
	};

	return table_of_rows(columns, G_N_ELEMENTS(columns), document, "tasks");
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
	static const struct tables_column columns[] = {
		{"<CLUSTER", "cluster"},
		{">NODES", "nodes"},
		{">IDLE", "idle"},
		{">BUSY", "busy"},
		{">DOWN", "down"},
		{">DRAINED", "drained"},
		{">DRAINING", "draining", .unless_0 = true},
		{">CORES", "cores"},
		{">MIB", "memory_mib"},
		{"<VMS", "virt_type"},
		{"<METER", .fill = fill_meter},
		{"<TYPES", .fill = fill_types},
	};

	return table_of_rows(columns, G_N_ELEMENTS(columns), document, "clusters");
}

static void fill_node(struct table *table, const json_t *node, const json_t *document)
{
	g_autofree char *cluster = field_line(node, "cluster");

	table_textf(table, "%s/%" JSON_INTEGER_FORMAT, cluster, field_integer(node, "node"));
}

struct table *table_of_nodes(const json_t *document)
{
	static const struct tables_column columns[] = {
		{"<NODE", .fill = fill_node}, {"<NAME", "name"}, {"<HOST", "host"},
		{"<STATE", "state"},          {">TASK", "task"}, {"<REASON", "reason"},
	};

	return table_of_rows(columns, G_N_ELEMENTS(columns), document, "nodes");
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
	{"start_s", "START S", 1, "START UTC"},
	{"end_s", "END S", 1, "END UTC"},
	{"yield", "YIELD", 3},
	{"energy_j", "ENERGY J", 1},
	{"utility", "UTILITY", 3},
	{"objective", "OBJECTIVE", 6},
	{"chance", "CHANCE", 3},
	{"threshold", "THRESHOLD", 3},
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
	struct table *table = table_with(">TIME S", "<UTC", ">TIMES", "<DECISION", "<NODES", NULL);
	bool shown[G_N_ELEMENTS(numbers)];
	size_t count = json_array_size(decisions);

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
