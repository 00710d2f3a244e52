/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/tables.h"

/* `virtbed clusters`: the clusters of a controller, and what their nodes do. */
int cmd_clusters(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	g_autoptr(json_t) document = NULL;

	if (!client_parse(&client, &argc, &argv, NULL,
			  "The controller's clusters: what their nodes do, and which types of task "
			  "they can run.",
			  NULL))
		return COMMAND_BAD;
	if (argc > 1)
		return command_fail(COMMAND_BAD, client.name,
				    "\"%s\" is too much: it takes options alone; try --help",
				    argv[1]);
	if (!client_open(&client))
		return client.status;
	document = client_get(&client, "/v1/clusters");
	return client_print(&client, document, table_of_clusters);
}
