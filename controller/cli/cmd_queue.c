/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/task_list.h"
#include "controller/cli/tables.h"

/* `virtbed queue`: the tasks of a controller, where they are, and why each of them waits. */

static int print_queue(struct client *client, const char *states, const char *user, GArray *numbers)
{
	g_autoptr(json_t) document = NULL;

	if (!client_open(client))
		return client->status;
	document = task_list_get(client, states, user, numbers);
	return client_print(client, document, table_of_tasks);
}

int cmd_queue(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	const char *state = NULL;
	const char *user = NULL;
	bool all = false;
	const struct command_option options[] = {
		{"state", 's', COMMAND_TEXT, &state,
		 "Only tasks in these states, such as waiting,running", "STATE,..."},
		{"user", 'u', COMMAND_TEXT, &user, "Only tasks of this user", "NAME"},
		{"all", 'a', COMMAND_FLAG, &all, "Also tasks that have ended"},
		{NULL},
	};
	g_autoptr(GArray) numbers = NULL;

	if (!client_parse(&client, &argc, &argv, "[TASK...]",
			  "Lists tasks that wait or run: for how long, where, and why those wait "
			  "that do.",
			  options))
		return COMMAND_BAD;
	if (state && !*state)
		return command_fail(COMMAND_BAD, client.name,
				    "--state: give one state at least, such as waiting");
	if (state && all)
		return command_fail(COMMAND_BAD, client.name, "give --state or --all, not both");
	if (argc > 1 && !(numbers = client_task_numbers(&client, argv + 1)))
		return COMMAND_BAD;
	/* Tasks that were named are shown in any state. */
	return print_queue(&client,
			   state
				   ?: all || numbers ? NULL
						     : FIELD_STATES_OPEN,
			   user, numbers);
}
