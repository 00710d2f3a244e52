/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/tables.h"

/* `virtbed clusters`: the clusters of a controller, and what their nodes do. */
int cmd_clusters(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(json_t) document = NULL;
	g_autoptr(table_t) table = NULL;
	g_autoptr(GError) error = NULL;

	client_add_options(&client, context, NULL);
	g_option_context_set_summary(
		context, "The controller's clusters: what their nodes do, and which types of task "
			 "they can run.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	if (argc > 1)
		return command_fail(COMMAND_BAD, client.name,
				    "\"%s\" is too much: it takes options alone; try --help",
				    argv[1]);
	if (!client_open(&client))
		return client.status;
	document = client_get(&client, "/v1/clusters");
	if (!document)
		return client.status;
	if (client.json) {
		client_print_json(document);
		return COMMAND_DONE;
	}
	table = table_of_clusters(document);
	table_print(table, 0, stdout);
	return COMMAND_DONE;
}
