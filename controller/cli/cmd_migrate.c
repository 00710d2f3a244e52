/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/http_client.h"
#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/cli/run_address.h"

/*
 * `virtbed migrate` and `virtbed show`: what a person wants of the VMs of a task of the run under way,
 * and where they are, through the controller's API (docs/run.md).
 */

#define ASK_TIMEOUT_S 10.0
#define ASK_EVERY_MS 200
#define WAIT_S 600.0

struct arguments {
	char *at, *dir;
	char **to; /* lists of hosts, separated by commas */
	double wait_s;
	gboolean json;
};

static bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static gboolean time_is_up(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static void pause_asking(void)
{
	bool up = false;

	g_timeout_add(ASK_EVERY_MS, time_is_up, &up);
	while (!up)
		g_main_context_iteration(NULL, TRUE);
}

static int fail(const char *name, const GError *error)
{
	bool bad = g_error_matches(error, HTTP_ERROR, HTTP_ERROR_STATUS) &&
		   (strstr(error->message, "there is no task") ||
		    strstr(error->message, "there is no host"));

	return command_fail(bad ? COMMAND_BAD : COMMAND_FAILED, name, "%s", error->message);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)) ?: "-";
}

static bool is_migrating(const json_t *task)
{
	return g_str_equal(text_of(task, "state"), "migrating");
}

static void print_json(const json_t *document)
{
	g_autofree char *text = json_pretty(document);

	puts(text);
}

/* "b1 b1 b2" */
static char *list_text(const json_t *list)
{
	GString *text = g_string_new(NULL);
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		g_string_append(text, i ? " " : "");
		if (json_is_string(one))
			g_string_append(text, json_string_value(one));
		else
			g_string_append_printf(text, "%" JSON_INTEGER_FORMAT,
					       json_integer_value(one));
	}
	return g_string_free(text, FALSE);
}

/* Migrating. */

/* All hosts that were named, in `to` and behind the task. */
static json_t *list_hosts(const struct arguments *arguments, char **more)
{
	json_t *list = json_array();

	for (char **one = arguments->to; one && *one; one++) {
		g_auto(GStrv) names = g_strsplit(*one, ",", -1);

		for (char **name = names; *name; name++)
			json_array_append_new(list, json_string(*name));
	}
	for (; *more; more++)
		json_array_append_new(list, json_string(*more));
	return list;
}

/* The last migration that the task object tells of, or NULL. */
static const json_t *last_migration(const json_t *task)
{
	const json_t *list = json_object_get(task, "migrated");

	return json_array_get(list, json_array_size(list) - 1);
}

static int tell_migrated(const char *name, const char *number, const json_t *task,
			 const struct arguments *arguments)
{
	g_autofree char *hosts = list_text(json_object_get(task, "hosts"));
	const json_t *last = last_migration(task);
	const char *reason = json_string_value(json_object_get(last, "reason"));
	bool over = json_is_number(json_object_get(last, "ended_s"));

	if (arguments->json)
		print_json(task);
	if (is_migrating(task) && arguments->wait_s > 0)
		return command_fail(COMMAND_FAILED, name, "task %s was not migrated in time", number);
	if (reason)
		return command_fail(COMMAND_FAILED, name, "task %s was not migrated: %s", number,
				    reason);
	if (!is_migrating(task) && !over)
		return command_fail(COMMAND_FAILED, name, "task %s was not migrated: it is %s",
				    number, text_of(task, "state"));
	if (!arguments->json)
		printf("task %s is %s on %s\n", number, text_of(task, "state"), hosts);
	return COMMAND_DONE;
}

static int migrate(const char *name, struct http_client *client, const char *number, char **more,
		   const struct arguments *arguments)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%s", number);
	g_autofree char *asked = g_strdup_printf("%s/migrate", path);
	g_autoptr(json_t) body = json_pack("{s:o}", "to", list_hosts(arguments, more));
	g_autoptr(GError) error = NULL;
	int64_t from_ns = clock_now_ns();
	json_t *task = http_client_call(client, "POST", asked, body, ASK_TIMEOUT_S, &error);
	int status;

	while (task && is_migrating(task) &&
	       clock_elapsed_s(from_ns, clock_now_ns()) < arguments->wait_s) {
		json_decref(task);
		pause_asking();
		task = http_client_call(client, "GET", path, NULL, ASK_TIMEOUT_S, &error);
	}
	status = task ? tell_migrated(name, number, task, arguments) : fail(name, error);
	json_decref(task);
	return status;
}

/* Showing. */

static void print_number(const char *label, const json_t *task, const char *key, const char *unit)
{
	const json_t *value = json_object_get(task, key);

	if (json_is_number(value))
		printf("%-14s %.2f%s\n", label, json_number_value(value), unit);
}

static void print_places(const json_t *task)
{
	json_t *place;
	size_t i;

	json_array_foreach (json_object_get(task, "places"), i, place) {
		g_autofree char *hosts = list_text(json_object_get(place, "hosts"));

		printf("%-14s %10.1f s  %-9s %s\n", i ? "" : "its VMs",
		       json_number_value(json_object_get(place, "since_s")),
		       text_of(place, "how"), hosts);
	}
}

static void print_task(const json_t *task)
{
	const json_t *share = json_object_get(task, "share");

	printf("%-14s %" JSON_INTEGER_FORMAT " (%s)\n", "task",
	       json_integer_value(json_object_get(task, "task")), text_of(task, "type"));
	printf("%-14s %s\n", "state", text_of(task, "state"));
	print_number("arrived", task, "arrival_s", " s");
	print_number("started", task, "started_s", " s");
	print_number("yield", task, "yield", "");
	print_number("virtual time", task, "virtual_s", " s");
	print_number("share asked", share, "share", " of its hosts");
	print_number("  may use", share, "asked_cores", " cores");
	print_number("  used", share, "given_cores", " cores");
	print_places(task);
}

static int show(const char *name, struct http_client *client, const char *number,
		const struct arguments *arguments)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%s", number);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) task = http_client_call(client, "GET", path, NULL, ASK_TIMEOUT_S, &error);

	if (!task)
		return fail(name, error);
	if (arguments->json)
		print_json(task);
	else
		print_task(task);
	return COMMAND_DONE;
}

/* The commands. */

static bool parse(int *argc, char ***argv, bool shows, struct arguments *arguments, GError **error)
{
	const GOptionEntry migrates[] = {
		{"to", 0, 0, G_OPTION_ARG_STRING_ARRAY, &arguments->to,
		 "Hosts for its VMs, which are dealt out over them", "HOST..."},
		{"wait", 0, 0, G_OPTION_ARG_DOUBLE, &arguments->wait_s,
		 "How long to wait until it came about (default: 600; 0: do not wait)", "S"},
		{NULL},
	};
	const GOptionEntry entries[] = {
		{"run", 0, 0, G_OPTION_ARG_FILENAME, &arguments->dir,
		 "Directory of the run under way (default: the latest under runs/)", "DIR"},
		{"at", 0, 0, G_OPTION_ARG_STRING, &arguments->at,
		 "Address of its controller (default: $VIRTBED_URI, or the run's)",
		 "unix:PATH|http://HOST:PORT"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &arguments->json, "One JSON document", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context =
		g_option_context_new(shows ? "TASK" : "TASK --to HOST...");

	if (!shows)
		g_option_context_add_main_entries(context, migrates, NULL);
	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_summary(
		context,
		shows ? "Shows a task of the run under way: its share of its hosts and what it makes "
			"of it, and\nwhere its VMs have been."
		      : "Brings the VMs of a running task of the run under way to other hosts of its "
			"cluster while it\nruns on. As few VMs as possible move.");
	return g_option_context_parse(context, argc, argv, error);
}

static int run(int argc, char **argv, bool shows, struct arguments *arguments)
{
	const char *name = argv[0];
	g_autoptr(GError) error = NULL;
	g_autofree char *address = NULL;
	g_autoptr(http_client_t) client = NULL;

	if (!parse(&argc, &argv, shows, arguments, &error))
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	if (argc < 2 || !is_number(argv[1]) || (shows && argc > 2) || !(arguments->wait_s >= 0) ||
	    (arguments->at && arguments->dir) || (!shows && !arguments->to))
		return command_fail(COMMAND_BAD, name, "%s",
				    shows ? "give a TASK, a number; --run or --at; try --help"
					  : "give a TASK, a number, then --to and hosts; --wait from 0; "
					    "--run or --at; try --help");
	address = run_address_find(arguments->at, arguments->dir, &error);
	if (address)
		client = http_client_new(address, &error);
	if (!client)
		return command_fail(COMMAND_BAD, name, "%s", error->message);
	return shows ? show(name, client, argv[1], arguments)
		     : migrate(name, client, argv[1], argv + 2, arguments);
}

static int command(int argc, char **argv, bool shows)
{
	struct arguments arguments = {.wait_s = WAIT_S};
	int status = run(argc, argv, shows, &arguments);

	g_free(arguments.at);
	g_free(arguments.dir);
	g_strfreev(arguments.to);
	return status;
}

int cmd_migrate(int argc, char **argv)
{
	return command(argc, argv, false);
}

int cmd_show(int argc, char **argv)
{
	return command(argc, argv, true);
}
