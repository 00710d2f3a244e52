/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/task_list.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/json.h"
#include "controller/cli/command.h"
#include "controller/cli/fields.h"

/* Tasks per request: the most that a controller sends. */
#define PAGE 10000

static void add_query(GString *path, const char *key, const char *value)
{
	g_autofree char *escaped = value ? g_uri_escape_string(value, ",", FALSE) : NULL;

	if (escaped)
		g_string_append_printf(path, "%c%s=%s", strchr(path->str, '?') ? '&' : '?', key,
				       escaped);
}

/* The range of some numbers; the client selects the wanted tasks in it. */
static void find_range(const GArray *numbers, gint64 *ret_first, gint64 *ret_last)
{
	for (guint i = 0; numbers && i < numbers->len; i++) {
		gint64 number = (gint64)g_array_index(numbers, guint64, i);

		*ret_first = i == 0 ? number : MIN(*ret_first, number);
		*ret_last = i == 0 ? number : MAX(*ret_last, number);
	}
}

static GHashTable *number_set(const GArray *numbers)
{
	GHashTable *set = g_hash_table_new(g_int64_hash, g_int64_equal);

	for (guint i = 0; i < numbers->len; i++)
		g_hash_table_add(set, &g_array_index(numbers, guint64, i));
	return set;
}

/* Keeps the tasks in one of the states: older controllers ignore that part of the query. */
static void keep_states(json_t *tasks, const char *states)
{
	g_auto(GStrv) names = g_strsplit(states, ",", -1);

	for (size_t i = json_array_size(tasks); i-- > 0;)
		if (!g_strv_contains((const char *const *)names,
				     field_text(json_array_get(tasks, i), "state") ?: ""))
			json_array_remove(tasks, i);
}

/* Keeps the tasks with one of the numbers. */
static void keep_wanted(json_t *tasks, const GArray *numbers)
{
	g_autoptr(GHashTable) wanted = number_set(numbers);

	for (size_t i = json_array_size(tasks); i-- > 0;) {
		gint64 number = field_integer(json_array_get(tasks, i), "task");

		if (!g_hash_table_contains(wanted, &number))
			json_array_remove(tasks, i);
	}
}

/*
 * Gets the tasks above `after` (-1: all), up to `last`, page by page as one document, which has the
 * other fields of the last page.
 */
static json_t *ask_pages(struct client *client, const char *states, const char *user, gint64 after,
			 gint64 last, int *ret_status, GError **error)
{
	g_autoptr(json_t) all = json_array();

	for (;;) {
		g_autoptr(GString) path = g_string_new("/v1/tasks");
		g_autofree char *from = g_strdup_printf("%" PRId64, after);
		g_autofree char *limit =
			g_strdup_printf("%" PRId64, MIN(last - after, (gint64)PAGE));
		g_autoptr(json_t) page = NULL;
		json_t *tasks;
		gint64 reached;

		add_query(path, "state", states);
		add_query(path, "user", user);
		/* Numbers begin at 0. */
		add_query(path, "after", after >= 0 ? from : NULL);
		add_query(path, "limit", limit);
		page = client_ask(client, "GET", path->str, NULL, ret_status, error);
		if (!page)
			return NULL;
		tasks = json_object_get(page, "tasks");
		json_array_extend(all, tasks);
		reached = json_array_size(tasks) > 0
				  ? field_integer(json_array_get(tasks, json_array_size(tasks) - 1),
						  "task")
				  : after;
		if (json_array_size(tasks) < PAGE || reached <= after || reached >= last) {
			json_object_set(page, "tasks", all);
			return g_steal_pointer(&page);
		}
		after = reached;
	}
}

json_t *task_list_ask(struct client *client, const char *states, const char *user,
		      const GArray *numbers, int *ret_status, GError **error)
{
	gint64 first = 0;
	gint64 last = G_MAXUINT32;
	json_t *document;

	find_range(numbers, &first, &last);
	document = ask_pages(client, states, user, first - 1, last, ret_status, error);
	if (document && states)
		keep_states(json_object_get(document, "tasks"), states);
	if (document && numbers)
		keep_wanted(json_object_get(document, "tasks"), numbers);
	return document;
}

/* Checks that each number has a task; else prints the first number without one. */
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
		return client_refuse(client, "there is no task %" PRIu64,
				     g_array_index(numbers, guint64, n));
	}
	return true;
}

json_t *task_list_get(struct client *client, const char *states, const char *user,
		      const GArray *numbers)
{
	g_autoptr(GError) error = NULL;
	int status;
	g_autoptr(json_t) document = task_list_ask(client, states, user, numbers, &status, &error);

	if (!document)
		client_fail(client, status, error);
	else if (!numbers || states || user ||
		 all_there(client, json_object_get(document, "tasks"), numbers))
		return g_steal_pointer(&document);
	return NULL;
}
