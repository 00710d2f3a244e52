/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>

#include "common/config.h"
#include "common/http_client.h"
#include "common/json.h"
#include "controller/cli/commands.h"

/*
 * The nodes of running local schedulers with what caps them: requested, set, read back, effective.
 * A row per cap; a node without caps has one row.
 */

#define ASK_TIMEOUT_S 5.0

/* The nodes of the local scheduler at `address`, a new reference. */
static json_t *ask(const char *address, GError **error)
{
	g_autoptr(http_client_t) client = http_client_new(address, error);
	g_autoptr(json_t) answer = NULL;
	json_t *nodes;

	if (client)
		answer = http_client_call(client, "GET", "/v1/nodes", NULL, ASK_TIMEOUT_S, error);
	if (!answer || !json_get_array(answer, "nodes", address, &nodes, error))
		return NULL;
	return json_incref(nodes);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "-";
}

static void print_row(const json_t *node, const json_t *cap)
{
	const char *reason = json_string_value(json_object_get(cap, "reason"));

	printf("%-14s %-12s %-8s %-10s %-10s %-24s %-24s %-9s%s%s\n", text_of(node, "name"),
	       text_of(node, "host"), text_of(node, "state"), text_of(cap, "knob"),
	       text_of(cap, "requested"), text_of(cap, "set"), text_of(cap, "read_back"),
	       text_of(cap, "effective"), reason ? "  " : "", reason ? reason : "");
}

static void print_table(const json_t *nodes)
{
	const json_t *node;
	size_t index;

	printf("%-14s %-12s %-8s %-10s %-10s %-24s %-24s %s\n", "NODE", "HOST", "STATE", "CAP",
	       "REQUESTED", "SET", "READ-BACK", "EFFECTIVE");
	json_array_foreach(nodes, index, node)
	{
		const json_t *caps = json_object_get(node, "caps");
		const json_t *cap;
		size_t row;

		if (json_array_size(caps) == 0)
			print_row(node, NULL);
		json_array_foreach(caps, row, cap)
		{
			print_row(node, cap);
		}
	}
}

/* The addresses of the configuration's running local schedulers. */
static char **addresses_of(const char *path, GError **error)
{
	g_autoptr(config_t) config = config_load(path, error);
	g_autoptr(GStrvBuilder) addresses = g_strv_builder_new();
	uint32_t count = 0;

	if (!config)
		return NULL;
	for (uint32_t i = 0; i < config->clusters_count; i++) {
		if (!config->clusters[i].local_scheduler)
			continue;
		g_strv_builder_add(addresses, config->clusters[i].local_scheduler);
		count++;
	}
	if (count > 0)
		return g_strv_builder_end(addresses);
	g_set_error(error, CONFIG_ERROR, CONFIG_ERROR_MEANING,
		    "%s: no cluster has a local_scheduler; give the address of one with --at", path);
	return NULL;
}

static int list(const char *name, char *const *addresses, gboolean as_json)
{
	g_autoptr(json_t) all = json_array();
	g_autoptr(json_t) document = NULL;
	int status = COMMAND_DONE;

	for (gsize i = 0; addresses[i]; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) nodes = ask(addresses[i], &error);

		if (nodes)
			json_array_extend(all, nodes);
		else
			status = command_fail(COMMAND_FAILED, name, "%s", error->message);
	}
	document = json_pack("{s:O}", "nodes", all);
	if (as_json) {
		g_autofree char *text = json_pretty(document);

		puts(text);
	} else if (json_array_size(all) > 0 || status == COMMAND_DONE) {
		print_table(all);
	}
	return status;
}

int cmd_nodes(int argc, char **argv)
{
	g_auto(GStrv) at = NULL;
	gboolean json = FALSE;
	const GOptionEntry entries[] = {
		{"at", 0, 0, G_OPTION_ARG_STRING_ARRAY, &at,
		 "Ask the local scheduler at this address (again for more)",
		 "unix:PATH|http://HOST:PORT"},
		{"json", 0, 0, G_OPTION_ARG_NONE, &json, "One JSON document", NULL},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("[CONFIG]");
	g_autoptr(GError) error = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	g_option_context_set_summary(context, "The nodes of running local schedulers, and what "
					      "caps them.");
	if (!g_option_context_parse(context, &argc, &argv, &error))
		return command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	if ((argc == 2) == (at != NULL) || argc > 2)
		return command_fail(COMMAND_BAD, argv[0],
				    "give a configuration, or addresses with --at; try --help");
	if (!at)
		at = addresses_of(argv[1], &error);
	if (!at)
		return command_fail(COMMAND_BAD, argv[0], "%s", error->message);
	return list(argv[0], at, json);
}
