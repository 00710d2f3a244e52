/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/energy_sums.h"
#include "controller/cli/task_list.h"

/*
 * `virtbed energy`: what the tasks of a controller used. Meters are read by the local schedulers'
 * side alone: `virtbed energy --live` becomes its program, as `virtbed lab` becomes the lab's.
 */

/* The runs, of which the one under way has what the meters say now. */
static json_t *runs_of(struct client *client, const json_t *power)
{
	g_autoptr(json_t) answer = client_get(client, "/v1/runs");
	json_t *run;
	size_t i;

	json_array_foreach (json_object_get(answer, "runs"), i, run) {
		json_object_set(run, "tasks", json_object_get(run, "tasks_arrived"));
		if (json_is_null(json_object_get(run, "ended_by")) &&
		    json_equal(json_object_get(run, "run"), json_object_get(power, "run")))
			json_object_set(run, "energy_j", json_object_get(power, "energy_j"));
	}
	return json_incref(json_object_get(answer, "runs"));
}

static json_t *tasks_of(struct client *client)
{
	g_autoptr(json_t) answer = task_list_get(client, NULL, NULL, NULL);

	return json_incref(json_object_get(answer, "tasks"));
}

static int sum_up(struct client *client, const char *by)
{
	g_autoptr(json_t) power = client_get(client, "/v1/power?after_s=1e12");
	g_autoptr(json_t) rows = NULL;
	g_autoptr(json_t) sums = NULL;
	g_autoptr(json_t) document = NULL;
	g_autoptr(table_t) table = NULL;

	if (power)
		rows = g_str_equal(by, "policy") ? runs_of(client, power) : tasks_of(client);
	if (!rows)
		return client->status;
	sums = energy_sums(rows, by);
	document = energy_sums_document(by, sums, power);
	if (client->json) {
		client_print_json(document);
		return COMMAND_DONE;
	}
	table = energy_sums_table(document);
	table_print(table, 0, stdout);
	return COMMAND_DONE;
}

static bool wants_meters(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (g_str_equal(argv[i], "--live"))
			return true;
	return false;
}

int cmd_energy(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autofree char *by = NULL;
	g_autofree char *known = g_strjoinv(", ", (char **)energy_sums_keys);
	/* The last four are told here for --help; with --live the meters' program reads them. */
	gboolean live = FALSE;
	gint count = 1;
	gdouble interval_s = 1;
	g_autofree char *lab = NULL;
	const GOptionEntry entries[] = {
		{"by", 'b', 0, G_OPTION_ARG_STRING, &by,
		 "Sum by task, user, type, cluster or policy (default: user)", "WHAT"},
		{"live", 0, 0, G_OPTION_ARG_NONE, &live,
		 "What the meters of CONFIG's hosts say now, without a controller", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT, &count,
		 "Live: how often to print (default 1; 0: until interrupted)", "N"},
		{"interval", 'i', 0, G_OPTION_ARG_DOUBLE, &interval_s,
		 "Live: seconds between two (default 1)", "S"},
		{"lab", 0, 0, G_OPTION_ARG_STRING, &lab,
		 "Live: lab whose blades the hosts name (default: the configuration's name)", "NAME"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[--live CONFIG]");
	g_autoptr(GError) error = NULL;

	if (wants_meters(argc, argv))
		return command_become("virtbed-meters", argv);
	client_add_options(&client, context, entries);
	g_option_context_set_summary(
		context, "What the tasks of a controller used above the idle power of their hosts.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	if (argc > 1)
		return command_fail(COMMAND_BAD, client.name,
				    "\"%s\": for the meters of a configuration's hosts give --live",
				    argv[1]);
	if (by && !g_strv_contains(energy_sums_keys, by))
		return command_fail(COMMAND_BAD, client.name,
				    "--by: there are no sums by \"%s\"; known: %s", by, known);
	return client_open(&client) ? sum_up(&client, by ?: "user") : client.status;
}
