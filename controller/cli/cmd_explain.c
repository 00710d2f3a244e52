/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"

/* `virtbed explain`: the decisions about a task with their numbers, and why it still waits. */

static void print_state(const json_t *task)
{
	bool ended = field_state_ended(field_text(task, "state"));
	const char *key = ended ? "reason" : "why";
	g_autofree char *type = field_line(task, "type");
	g_autofree char *state = field_line(task, "state");
	g_autofree char *why = field_line(task, key);

	printf("task %" JSON_INTEGER_FORMAT " (%s) is %s%s%s\n", field_integer(task, "task"), type,
	       state, field_text(task, key) ? ": " : "", field_text(task, key) ? why : "");
}

static int explain(struct client *client, guint64 number)
{
	g_autofree char *path = g_strdup_printf("/v1/tasks/%" PRIu64, number);
	g_autofree char *decided = g_strdup_printf("%s/decisions", path);
	g_autoptr(json_t) decisions = client_get(client, decided);
	g_autoptr(json_t) task = NULL;

	if (decisions && !client->json) {
		task = client_get(client, path);
		if (!task)
			return client->status;
		print_state(task);
		if (json_array_size(json_object_get(decisions, "decisions")) == 0) {
			puts("nothing was decided about it yet");
			return COMMAND_DONE;
		}
	}
	return client_print(client, decisions, table_of_decisions);
}

int cmd_explain(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	guint64 number;

	if (!client_parse(&client, &argc, &argv, "TASK",
			  "What the policy decided about a task, when, and by which numbers.",
			  NULL))
		return COMMAND_BAD;
	if (!client_open_for_task(&client, argv + 1, &number))
		return client.status;
	return explain(&client, number);
}
