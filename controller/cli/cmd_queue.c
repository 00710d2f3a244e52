/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/task_list.h"
#include "controller/cli/tables.h"

/* `virtbed queue`: the tasks of a controller, where they are, and why each of them waits. */

struct arguments {
	char *state, *user;
	gboolean all;
};

static int print_queue(struct client *client, const struct arguments *arguments, GArray *numbers)
{
	/* Tasks that were named are shown in any state. */
	const char *states = arguments->state ?: arguments->all || numbers ? NULL
									    : FIELD_STATES_OPEN;
	g_autoptr(json_t) document =
		task_list_get(client, states, arguments->user, numbers);
	g_autoptr(table_t) table = NULL;

	if (!document)
		return client->status;
	if (client->json) {
		client_print_json(document);
		return COMMAND_DONE;
	}
	table = table_of_tasks(document);
	table_print(table, 0, stdout);
	return COMMAND_DONE;
}

static int run_queue(struct client *client, struct arguments *arguments, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		{"state", 's', 0, G_OPTION_ARG_STRING, &arguments->state,
		 "Only tasks in these states, such as waiting,running", "STATE,..."},
		{"user", 'u', 0, G_OPTION_ARG_STRING, &arguments->user, "Only tasks of this user",
		 "NAME"},
		{"all", 'a', 0, G_OPTION_ARG_NONE, &arguments->all,
		 "Also tasks that have ended", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[TASK...]");
	g_autoptr(GArray) numbers = NULL;
	g_autoptr(GError) error = NULL;

	client_add_options(client, context, entries);
	g_option_context_set_summary(
		context, "Lists tasks that wait or run: for how long, where, and why those wait "
			 "that do.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, client->name, "%s", error->message);
	if (arguments->state && !*arguments->state)
		return command_fail(COMMAND_BAD, client->name, "--state: give one state at least, such as waiting");
	if (arguments->state && arguments->all)
		return command_fail(COMMAND_BAD, client->name, "give --state or --all, not both");
	if (argc > 1 && !(numbers = client_task_numbers(client, argv + 1)))
		return COMMAND_BAD;
	return client_open(client) ? print_queue(client, arguments, numbers) : client->status;
}

int cmd_queue(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	struct arguments arguments = {0};
	int status = run_queue(&client, &arguments, argc, argv);

	g_free(arguments.state);
	g_free(arguments.user);
	return status;
}
