/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>

#include "common/config/config.h"
#include "common/error_fail.h"
#include "common/json.h"
#include "common/peer_tls.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"
#include "controller/cli/tables.h"
#include "controller/config/config_controller.h"

/*
 * The nodes of a controller; or those of running local schedulers with their caps: requested, set,
 * read back, effective. A cap has a row; a node without caps has one row.
 */

#define ASK_TIMEOUT_S 5.0

/* Returns the nodes of the local scheduler at `address`, a new reference. */
static json_t *get_nodes(const struct config_tls *tls, const char *address, GError **error)
{
	g_autoptr(http_client_t) client = peer_tls_client(&platform_machine, tls, address, error);
	g_autoptr(json_t) answer = NULL;
	double timeout_s;

	if (client && http_client_timeout(ASK_TIMEOUT_S, &timeout_s, error))
		answer = http_client_call(client, "GET", "/v1/nodes", NULL, timeout_s, error);
	return answer ? json_incref(json_object_get(answer, "nodes")) : NULL;
}

static void print_row(const json_t *node, const json_t *cap)
{
	const char *reason = field_text(cap, "reason");

	printf("%-14s %-12s %-8s %-10s %-10s %-24s %-24s %-9s%s%s\n",
	       field_text(node, "name") ?: "-", field_text(node, "host") ?: "-",
	       field_text(node, "state") ?: "-", field_text(cap, "knob") ?: "-",
	       field_text(cap, "requested") ?: "-", field_text(cap, "set") ?: "-",
	       field_text(cap, "read_back") ?: "-", field_text(cap, "effective") ?: "-",
	       reason ? "  " : "", reason ?: "");
}

static void print_table(const json_t *nodes)
{
	const json_t *node;
	size_t index;

	printf("%-14s %-12s %-8s %-10s %-10s %-24s %-24s %s\n", "NODE", "HOST", "STATE", "CAP",
	       "REQUESTED", "SET", "READ-BACK", "EFFECTIVE");
	json_array_foreach (nodes, index, node) {
		const json_t *caps = json_object_get(node, "caps");
		const json_t *cap;
		size_t row;

		if (json_array_size(caps) == 0)
			print_row(node, NULL);
		json_array_foreach (caps, row, cap)
			print_row(node, cap);
	}
}

/* The addresses of the configuration's running local schedulers. */
static char **addresses_of(const struct config *config, const char *path, GError **error)
{
	g_autoptr(GStrvBuilder) addresses = g_strv_builder_new();
	g_auto(GStrv) list = NULL;

	for (uint32_t i = 0; i < config->clusters_count; i++)
		if (config->clusters[i].local_scheduler)
			g_strv_builder_add(addresses, config->clusters[i].local_scheduler);
	list = g_strv_builder_end(addresses);
	if (*list)
		return g_steal_pointer(&list);
	return error_null(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
			  "%s: no cluster has a local_scheduler; give the address of a local "
			  "scheduler with --at",
			  path);
}

static int list_of_schedulers(const char *name, const struct config_tls *tls,
			      char *const *addresses, bool as_json)
{
	g_autoptr(json_t) all = json_array();
	g_autoptr(json_t) document = NULL;
	int status = COMMAND_DONE;

	for (gsize i = 0; addresses[i]; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) nodes = get_nodes(tls, addresses[i], &error);

		if (nodes)
			json_array_extend(all, nodes);
		else
			status = command_fail(COMMAND_FAILED, name, "%s", error->message);
	}
	document = json_pack("{s:O}", "nodes", all);
	if (as_json)
		command_print_json(document);
	else if (json_array_size(all) > 0 || status == COMMAND_DONE)
		print_table(all);
	return status;
}

/* The nodes of a controller's clusters. */
static int list_of_controller(struct client *client, const char *cluster)
{
	g_autofree char *escaped = cluster ? g_uri_escape_string(cluster, NULL, FALSE) : NULL;
	g_autofree char *path =
		g_strconcat("/v1/nodes", escaped ? "?cluster=" : NULL, escaped, NULL);
	g_autoptr(json_t) document = NULL;

	if (!client_open(client))
		return client->status;
	document = client_get(client, path);
	return client_print(client, document, table_of_nodes);
}

int cmd_nodes(int argc, char **argv)
{
	g_auto(client_t) client = {.name = argv[0]};
	char **at = NULL;
	const char *cluster = NULL;
	const struct command_option options[] = {
		{"at", 0, COMMAND_TEXTS, &at,
		 "Ask the local scheduler at this address (again for more)",
		 "unix:PATH|http://HOST:PORT"},
		{"cluster", 'c', COMMAND_TEXT, &cluster,
		 "Of a controller: only the nodes of this cluster", "NAME"},
		{NULL},
	};
	g_autoptr(config_t) config = NULL;
	g_auto(GStrv) configured = NULL;
	g_autoptr(GError) error = NULL;

	if (!client_parse(
		    &client, &argc, &argv, "[CONFIG]",
		    "The nodes of the controller: what they do, and why those are drained that are.\n"
		    "With CONFIG or --at: those of running local schedulers, and what caps them.",
		    options))
		return COMMAND_BAD;
	if (argc > 2 || (argc == 2 && at))
		return command_fail(COMMAND_BAD, client.name,
				    "give a configuration, or addresses with --at, or neither; try "
				    "--help");
	if (argc == 1 && !at)
		return list_of_controller(&client, cluster);
	if (cluster || client.uri || client.dir)
		return command_fail(
			COMMAND_BAD, client.name,
			"--cluster, --uri and --run are for a controller: leave out the "
			"configuration and --at");
	if (!at && (config = config_controller_load(argv[1], &error)))
		at = configured = addresses_of(config, argv[1], &error);
	if (!at)
		return command_fail(COMMAND_BAD, client.name, "%s", error->message);
	return list_of_schedulers(client.name, config ? config->tls : NULL, at, client.json);
}
