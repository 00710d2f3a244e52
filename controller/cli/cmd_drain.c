/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "controller/cli/client.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"

/* `virtbed drain` and `undrain`: take nodes out of use, and back. */

/* A node that the command line names. */
struct place {
	char *cluster;
	guint64 node;
};

static void place_clear(gpointer data)
{
	g_free(((struct place *)data)->cluster);
}

/* Adds the nodes of "c1/0" or "c1/0-3". */
static bool add_places(GArray *places, const char *word)
{
	const char *slash = strrchr(word, '/');
	guint64 node, last;

	if (!slash || slash == word || !client_read_range(slash + 1, G_MAXUINT16, &node, &last))
		return false;
	for (; node <= last; node++) {
		const struct place place = {g_strndup(word, (gsize)(slash - word)), node};

		g_array_append_val(places, place);
	}
	return true;
}

/* Reads all arguments; NULL after it printed which word names no node. */
static GArray *read_places(const char *name, char **words)
{
	g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(struct place));

	g_array_set_clear_func(places, place_clear);
	for (; *words; words++) {
		if (add_places(places, *words))
			continue;
		command_fail(COMMAND_BAD, name,
			     "\"%s\" names no node: write CLUSTER/NODE, such as c1/0 or "
			     "c1/0-3, as `virtbed nodes` lists them",
			     *words);
		return NULL;
	}
	if (places->len > 0)
		return g_steal_pointer(&places);
	command_fail(COMMAND_BAD, name, "which node? give CLUSTER/NODE; try --help");
	return NULL;
}

/* The most unknown nodes that an error names. */
#define MISSING_TOLD 3

/* The set of "CLUSTER/NODE" of all nodes; NULL after it printed why they are not known. */
static GHashTable *list_nodes(struct client *client)
{
	g_autoptr(json_t) answer = client_get(client, "/v1/nodes");
	GHashTable *nodes;
	const json_t *node;
	size_t i;

	if (!answer)
		return NULL;
	nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	json_array_foreach (json_object_get(answer, "nodes"), i, node)
		g_hash_table_add(nodes, g_strdup_printf("%s/%" JSON_INTEGER_FORMAT,
							field_text(node, "cluster") ?: "",
							field_integer(node, "node")));
	return nodes;
}

/*
 * Checks all nodes before any request is sent, so that a mistyped one does not leave the command
 * half done.
 */
static int check_places(struct client *client, const GArray *places)
{
	g_autoptr(GHashTable) nodes = list_nodes(client);
	g_autoptr(GString) missing = g_string_new(NULL);
	guint count = 0;

	if (!nodes)
		return client->status;
	for (guint i = 0; i < places->len; i++) {
		const struct place *place = &g_array_index(places, struct place, i);
		g_autofree char *name = g_strdup_printf("%s/%" PRIu64, place->cluster, place->node);

		if (!g_hash_table_contains(nodes, name) && count++ < MISSING_TOLD)
			g_string_append_printf(missing, "%s%s", count > 1 ? ", " : "", name);
	}
	if (count == 0)
		return COMMAND_DONE;
	if (count > MISSING_TOLD)
		g_string_append_printf(missing, " and %u more", count - MISSING_TOLD);
	return command_fail(COMMAND_BAD, client->name,
			    "there is no node %s: nothing was done; `virtbed nodes` lists them",
			    missing->str);
}

static int change_node(struct client *client, const struct place *place, json_t *body,
		       json_t *answers)
{
	g_autofree char *cluster = g_uri_escape_string(place->cluster, NULL, FALSE);
	g_autofree char *path = g_strdup_printf("/v1/nodes/%s/%" PRIu64 "/%s", cluster, place->node,
						body ? "drain" : "undrain");
	g_autoptr(json_t) answer = client_post(client, path, body);
	g_autofree char *state = NULL;

	if (!answer)
		return client->status;
	json_array_append(answers, answer);
	if (client->json)
		return COMMAND_DONE;
	state = field_line(answer, "state");
	printf("%s/%" PRIu64 " is %s", place->cluster, place->node, state);
	if (g_str_equal(state, "draining") && json_is_integer(json_object_get(answer, "task")))
		printf(": task %" JSON_INTEGER_FORMAT " still runs there",
		       field_integer(answer, "task"));
	putchar('\n');
	return COMMAND_DONE;
}

/*
 * A refused request does not keep the others from being sent; a controller that does not answer
 * ends the command. Returns the worst exit status.
 */
static int change_all(struct client *client, const GArray *places, json_t *body)
{
	g_autoptr(json_t) answers = json_array();
	int status = COMMAND_DONE;

	for (guint i = 0; i < places->len && !client->lost; i++) {
		const int outcome =
			change_node(client, &g_array_index(places, struct place, i), body, answers);

		status = MAX(status, outcome);
	}
	client_print_list(client, "nodes", answers);
	return status;
}

int cmd_drain(int argc, char **argv)
{
	const bool drains = g_str_has_suffix(argv[0], " drain");
	g_auto(client_t) client = {.name = argv[0]};
	const char *reason = NULL;
	const struct command_option options[] = {
		{"reason", 'r', COMMAND_TEXT, &reason, "Why, for later readers", "TEXT"},
		{NULL},
	};
	g_autoptr(GArray) places = NULL;
	g_autoptr(json_t) body = NULL;
	int status;

	if (!client_parse(
		    &client, &argc, &argv, "CLUSTER/NODE...",
		    drains ? "Takes nodes out of use: tasks that run there continue, no task is "
			     "started there."
			   : "Lets nodes that were drained take tasks again.",
		    drains ? options : NULL))
		return COMMAND_BAD;
	places = read_places(client.name, argv + 1);
	if (!places)
		return COMMAND_BAD;
	if (drains && (!reason || !*reason))
		return command_fail(COMMAND_BAD, client.name, "say why with --reason TEXT");
	body = drains ? json_pack("{s:s}", "reason", reason) : NULL;
	if (!client_open(&client))
		return client.status;
	status = check_places(&client, places);
	return status == COMMAND_DONE ? change_all(&client, places, body) : status;
}
