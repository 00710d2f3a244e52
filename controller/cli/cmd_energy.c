/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/energy_account.h"
#include "controller/cli/energy_sums.h"
#include "controller/cli/energy_window.h"
#include "controller/cli/fields.h"
#include "controller/cli/task_list.h"

/*
 * `virtbed energy`: the energy account of a service, or what the tasks of an experiment used. Only
 * programs of the local schedulers' side read meters: `virtbed energy --live` executes virtbed's
 * program for that, as `virtbed lab` executes the lab's.
 */

/* The runs; the one under way gets the energy that the meters report now. */
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

/* Prints the energy account of a service. */
static int print_account(struct client *client, json_t *document)
{
	g_autofree char *verdict = NULL;
	g_autofree char *notes = energy_account_notes(document);
	g_autofree char *window = energy_window_text(json_object_get(document, "window"),
						     field_number(document, "now_s"));
	const bool equal = energy_account_check(document, &verdict);

	json_object_set_new(document, "equal", json_boolean(equal));
	json_object_set_new(document, "verdict", json_string(verdict));
	client_print(client, document, energy_account_table);
	if (!client->json)
		printf("%s%s\n%s", notes ?: "", verdict, window ?: "");
	return equal ? COMMAND_DONE
		     : command_fail(COMMAND_FAILED, client->name, "the account does not add up: %s",
				    verdict);
}

/* Prints what the tasks of an experiment used. */
static int sum_up(struct client *client, const char *by)
{
	g_autoptr(json_t) power = client_get(client, "/v1/power?after_s=1e12");
	g_autoptr(json_t) rows = NULL;
	g_autoptr(json_t) sums = NULL;
	g_autoptr(json_t) document = NULL;

	if (power)
		rows = g_str_equal(by, "policy") ? runs_of(client, power) : tasks_of(client);
	if (!rows)
		return client->status;
	sums = energy_sums(rows, by);
	document = energy_sums_document(by, sums, power);
	return client_print(client, document, energy_sums_table);
}

/* An experiment keeps no account; the controller answers 409. */
static int print_energy(struct client *client, const char *by)
{
	g_autofree char *path = g_strdup_printf("/v1/energy?by=%s", by);
	g_autoptr(GError) error = NULL;
	int status;
	g_autoptr(json_t) document = client_ask(client, "GET", path, NULL, &status, &error);

	if (document)
		return print_account(client, document);
	if (status != 409)
		return client_fail(client, status, error);
	if (g_strv_contains(energy_sums_keys, by))
		return sum_up(client, by);
	return command_fail(COMMAND_BAD, client->name,
			    "--by: only a service (virtbed serve) has sums by \"%s\"", by);
}

int cmd_energy(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	const char *by = "user";
	g_autofree char *known = g_strjoinv(", ", (char **)energy_account_keys);
	/*
	 * The last four options are listed here for --help; the meters' program reads them with
	 * --live.
	 */
	bool live = false;
	const char *of_live = NULL;
	const struct command_option options[] = {
		{"by", 'b', COMMAND_TEXT, &by,
		 "Sum by user, task, type, cluster, host, policy or day (default: user)", "WHAT"},
		{"live", 0, COMMAND_FLAG, &live,
		 "What the meters of CONFIG's hosts say now, without a controller"},
		{"count", 'n', COMMAND_TEXT, &of_live,
		 "Live: how often to print (default 1; 0: until interrupted)", "N"},
		{"interval", 'i', COMMAND_TEXT, &of_live, "Live: seconds between two (default 1)",
		 "S"},
		{"lab", 0, COMMAND_TEXT, &of_live,
		 "Live: lab whose blades the hosts name (default: the configuration's name)",
		 "NAME"},
		{NULL},
	};

	if (g_strv_contains((const char *const *)argv + 1, "--live"))
		return command_become("virtbed-meters", argv);
	if (!client_parse(&client, &argc, &argv, "[--live CONFIG]",
			  "Whose energy it was that the meters of a controller's hosts counted.",
			  options))
		return COMMAND_BAD;
	if (argc > 1)
		return command_fail(COMMAND_BAD, client.name,
				    "\"%s\": for the meters of a configuration's hosts give --live",
				    argv[1]);
	if (of_live)
		return command_fail(COMMAND_BAD, client.name,
				    "--count, --interval and --lab are for --live");
	if (!g_strv_contains(energy_account_keys, by))
		return command_fail(COMMAND_BAD, client.name,
				    "--by: there are no sums by \"%s\"; known: %s", by, known);
	return client_open(&client) ? print_energy(&client, by) : client.status;
}
