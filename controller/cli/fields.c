/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/fields.h"

#include <glib.h>
#include <math.h>

#include "common/visible.h"

const char *field_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

char *field_line(const json_t *object, const char *key)
{
	return visible_text(field_text(object, key) ?: "-");
}

double field_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

json_int_t field_integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

char *field_nodes(const json_t *object, const char *key)
{
	const json_t *list = json_object_get(object, key);
	GString *text = g_string_new(NULL);
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count;) {
		json_int_t first = json_integer_value(json_array_get(list, i));
		json_int_t last = first;

		while (++i < count && json_integer_value(json_array_get(list, i)) == last + 1)
			last++;
		g_string_append_printf(text, "%s%" JSON_INTEGER_FORMAT, text->len ? "," : "",
				       first);
		if (last > first)
			g_string_append_printf(text, "%c%" JSON_INTEGER_FORMAT,
					       last > first + 1 ? '-' : ',', last);
	}
	return g_string_free(text, FALSE);
}

char *field_names(const json_t *object, const char *key)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	GString *text = g_string_new(NULL);
	const json_t *one;
	size_t i;

	json_array_foreach (json_object_get(object, key), i, one) {
		const char *name = json_string_value(one);
		g_autofree char *line = NULL;

		if (!name || !g_hash_table_add(seen, (gpointer)name))
			continue;
		line = visible_text(name);
		g_string_append_printf(text, "%s%s", text->len ? " " : "", line);
	}
	return g_string_free(text, FALSE);
}

char *field_task_nodes(const json_t *task)
{
	static const char *const placed[] = {"planned", "claimed", "queued", "starting", NULL};
	g_autofree char *nodes = field_nodes(task, "nodes");
	g_autofree char *cluster = field_line(task, "cluster");
	const char *state = field_text(task, "state") ?: "";
	/* A task that waits after its VMs were lost had nodes, but has none now. */
	bool has = (isfinite(field_number(task, "started_s")) && !g_str_equal(state, "waiting")) ||
		   g_strv_contains(placed, state);

	return *nodes && has ? g_strdup_printf("%s/%s", cluster, nodes) : g_strdup("");
}

double field_length_s(const json_t *task, const char *so_far, const char *since, double now_s)
{
	const double since_s = field_number(task, since);

	return field_number(task, so_far) + (isfinite(since_s) ? now_s - since_s : 0);
}

double field_left_s(const json_t *task, double now_s)
{
	const bool executes = isfinite(field_number(task, "since_s"));

	return executes ? field_number(task, "expected_end_s") - now_s
			: field_number(task, "left_s");
}

char *field_utc(const json_t *object, double later_s)
{
	const char *text = field_text(object, "utc");
	g_autoptr(GDateTime) then =
		text && isfinite(later_s) ? g_date_time_new_from_iso8601(text, NULL) : NULL;
	g_autoptr(GDateTime) time = then ? g_date_time_add_seconds(then, later_s) : NULL;

	return time ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%SZ") : NULL;
}

bool field_state_ended(const char *state)
{
	static const char *const ended[] = {"completed", "failed",     "dropped",
					    "killed",    "unfinished", NULL};

	return state && g_strv_contains(ended, state);
}
