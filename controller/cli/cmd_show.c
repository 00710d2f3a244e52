/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/json.h"
#include "common/visible.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"

/* `virtbed show`: everything about one task. */

static void print_line(const char *label, const json_t *object, const char *key)
{
	g_autofree char *line = field_text(object, key) ? field_line(object, key) : NULL;

	if (line)
		printf("%-14s %s\n", label, line);
}

static void print_number(const char *label, const json_t *object, const char *key, const char *unit)
{
	double value = field_number(object, key);

	if (isfinite(value))
		printf("%-14s %.2f%s\n", label, value, unit);
}

/* Prints NAME_s, a time of the run, and NAME_utc, the same by the wall clock. */
static void print_time(const char *label, const json_t *object, const char *name)
{
	g_autofree char *seconds = g_strconcat(name, "_s", NULL);
	g_autofree char *clock = g_strconcat(name, "_utc", NULL);
	g_autofree char *utc = field_line(object, clock);
	const double value = field_number(object, seconds);

	if (isfinite(value))
		printf("%-14s %.2f s  %s\n", label, value, utc);
}

/* Prints the sum of the past spans, and of the present span, which began at `since`. */
static void print_length(const char *label, const json_t *task, const char *so_far,
			 const char *since)
{
	const double length_s = field_length_s(task, so_far, since, field_number(task, "now_s"));
	g_autofree char *text = visible_duration(length_s);

	if (length_s > 0)
		printf("%-14s %s\n", label, text);
}

static void print_left(const json_t *task)
{
	const double left_s = field_left_s(task, field_number(task, "now_s"));
	g_autofree char *text = visible_duration(left_s);

	if (isfinite(left_s))
		printf("%-14s %s%s\n", "left", text,
		       isfinite(field_number(task, "since_s")) ? "" : ", which stands still");
}

static void print_place(const json_t *task)
{
	g_autofree char *nodes = field_task_nodes(task);
	g_autofree char *hosts = field_names(task, "hosts");

	if (*nodes)
		printf("%-14s %s on %s\n", "nodes", nodes, hosts);
}

/* The host of each VM: "b1 b1 b2". */
static char *vm_hosts(const json_t *place)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(place, "hosts"), i, one) {
		g_string_append(text, i ? " " : "");
		visible_append(text, json_string_value(one) ?: "?");
	}
	return g_strdup(text->str);
}

/* Prints where the task was. With several attempts each line names its attempt. */
static void print_history(const json_t *task)
{
	const bool several = field_integer(task, "attempts") > 1;
	const json_t *place;
	size_t i;

	json_array_foreach (json_object_get(task, "places"), i, place) {
		g_autofree char *hosts = vm_hosts(place);
		g_autofree char *how = field_line(place, "how");
		g_autofree char *utc = field_line(place, "since_utc");
		g_autofree char *reason =
			field_text(place, "reason") ? field_line(place, "reason") : NULL;
		g_autofree char *attempt =
			several ? g_strdup_printf("attempt %" JSON_INTEGER_FORMAT "  ",
						  field_integer(place, "attempt"))
				: g_strdup("");

		printf("%-14s %s%10.1f s  %s  %-9s %s\n", i ? "" : "its VMs", attempt,
		       field_number(place, "since_s"), utc, how, reason ?: hosts);
	}
}

/* In microjoules, as `virtbed energy --by task` has it; the last ones of it may be missing. */
static void print_energy(const json_t *task)
{
	g_autofree char *kind = field_line(task, "energy_kind");

	if (json_is_number(json_object_get(task, "energy_j")))
		printf("%-14s %.6f J%s%s\n", "energy", field_number(task, "energy_j"),
		       g_str_equal(kind, "final") ? "" : ", ",
		       g_str_equal(kind, "final") ? "" : kind);
}

static void print_task(const json_t *task)
{
	const json_t *share = json_object_get(task, "share");
	g_autofree char *type = field_line(task, "type");

	printf("%-14s %" JSON_INTEGER_FORMAT " (%s)\n", "task", field_integer(task, "task"), type);
	print_line("name", task, "name");
	print_line("user", task, "user");
	print_line("state", task, "state");
	/* Most tasks have no priority and get no line. */
	if (field_integer(task, "priority") != 0)
		printf("%-14s %" JSON_INTEGER_FORMAT "\n", "priority",
		       field_integer(task, "priority"));
	print_line("waits because", task, "why");
	print_line("reason", task, "reason");
	print_place(task);
	print_time("arrived", task, "arrival");
	print_time("started", task, "started");
	print_time("expected end", task, "expected_end");
	print_time("ended", task, "ended");
	print_length("waited", task, "waited_s", "waits_since_s");
	print_length("executed", task, "executed_s", "since_s");
	print_left(task);
	print_number("worth at most", task, "utility_max", "");
	print_number("utility", task, "utility", "");
	print_energy(task);
	print_number("yield", task, "yield", "");
	print_number("virtual time", task, "virtual_s", " s");
	print_number("share asked", share, "share", " of its hosts");
	print_number("  may use", share, "asked_cores", " cores");
	print_number("  used", share, "given_cores", " cores");
	print_history(task);
}

int cmd_show(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autoptr(json_t) task = NULL;
	g_autofree char *path = NULL;
	guint64 number;

	if (!client_parse(&client, &argc, &argv, "TASK",
			  "Shows a task: its state, what it is worth and has used, its "
			  "share of its hosts and what it\nmakes of it, and where its VMs "
			  "have been.",
			  NULL))
		return COMMAND_BAD;
	if (!client_open_for_task(&client, argv + 1, &number))
		return client.status;
	path = g_strdup_printf("/v1/tasks/%" PRIu64, number);
	task = client_get(&client, path);
	if (!task)
		return client.status;
	if (client.json)
		command_print_json(task);
	else
		print_task(task);
	return COMMAND_DONE;
}
