/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/task_list.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/json.h"
#include "controller/cli/commands.h"
#include "controller/cli/fields.h"

static void add_query(GString *path, const char *key, const char *value)
{
	g_autofree char *escaped = value ? g_uri_escape_string(value, ",", FALSE) : NULL;

	if (escaped)
		g_string_append_printf(path, "%c%s=%s", strchr(path->str, '?') ? '&' : '?', key,
				       escaped);
}

/* The range that holds all numbers; which tasks of it are wanted is for us to see. */
static void add_range(GString *path, const GArray *numbers)
{
	guint64 first = G_MAXUINT64;
	guint64 last = 0;
	g_autofree char *after = NULL;
	g_autofree char *limit = NULL;

	for (guint i = 0; i < numbers->len; i++) {
		first = MIN(first, g_array_index(numbers, guint64, i));
		last = MAX(last, g_array_index(numbers, guint64, i));
	}
	/* Numbers begin at 0, and `after` leaves out the one it names. */
	if (first > 0) {
		after = g_strdup_printf("%" PRIu64, first - 1);
		add_query(path, "after", after);
	}
	limit = g_strdup_printf("%" PRIu64, last - first + 1);
	add_query(path, "limit", limit);
}

static GHashTable *number_set(const GArray *numbers)
{
	GHashTable *set = g_hash_table_new(g_int64_hash, g_int64_equal);

	for (guint i = 0; i < numbers->len; i++)
		g_hash_table_add(set, &g_array_index(numbers, guint64, i));
	return set;
}

/* Leaves the tasks in one of the states: controllers of before cannot choose. */
static void keep_states(json_t *tasks, const char *states)
{
	g_auto(GStrv) names = g_strsplit(states, ",", -1);

	for (size_t i = json_array_size(tasks); i-- > 0;)
		if (!g_strv_contains((const char *const *)names,
				     field_text(json_array_get(tasks, i), "state") ?: ""))
			json_array_remove(tasks, i);
}

/* Leaves the tasks that have one of the numbers. */
static void keep_wanted(json_t *tasks, const GArray *numbers)
{
	g_autoptr(GHashTable) wanted = number_set(numbers);

	for (size_t i = json_array_size(tasks); i-- > 0;) {
		gint64 number = field_integer(json_array_get(tasks, i), "task");

		if (!g_hash_table_contains(wanted, &number))
			json_array_remove(tasks, i);
	}
}

json_t *task_list_ask(struct client *client, const char *states, const char *user,
		      const GArray *numbers, int *ret_status, GError **error)
{
	g_autoptr(GString) path = g_string_new("/v1/tasks");
	json_t *document;

	add_query(path, "state", states);
	add_query(path, "user", user);
	if (numbers)
		add_range(path, numbers);
	document = client_ask(client, "GET", path->str, NULL, ret_status, error);
	if (document && states)
		keep_states(json_object_get(document, "tasks"), states);
	if (document && numbers)
		keep_wanted(json_object_get(document, "tasks"), numbers);
	return document;
}

/* Whether there is a task for each number; else prints one that there is not. */
static bool all_there(struct client *client, const json_t *tasks, const GArray *numbers)
{
	g_autoptr(GHashTable) missing = number_set(numbers);
	const json_t *task;
	size_t i;

	json_array_foreach (tasks, i, task) {
		gint64 number = field_integer(task, "task");

		g_hash_table_remove(missing, &number);
	}
	for (guint n = 0; n < numbers->len; n++) {
		if (!g_hash_table_contains(missing, &g_array_index(numbers, guint64, n)))
			continue;
		client->status = command_fail(COMMAND_BAD, client->name,
					      "there is no task %" PRIu64,
					      g_array_index(numbers, guint64, n));
		return false;
	}
	return true;
}

json_t *task_list_get(struct client *client, const char *states, const char *user,
		      const GArray *numbers)
{
	g_autoptr(GError) error = NULL;
	int status;
	g_autoptr(json_t) document =
		task_list_ask(client, states, user, numbers, &status, &error);

	if (!document)
		client_fail(client, status, error);
	else if (!numbers || states || user ||
		 all_there(client, json_object_get(document, "tasks"), numbers))
		return g_steal_pointer(&document);
	return NULL;
}
