/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/rerun/divergence.h"

#include <math.h>

#include "common/json.h"

/* The longest value that is shown whole. */
#define SHOWN_MAX 200

void divergence_clear(struct divergence *divergence)
{
	g_free(divergence->kind);
	g_free(divergence->field);
	g_free(divergence->stored);
	g_free(divergence->here);
	*divergence = (struct divergence){.task = UINT32_MAX};
}

void divergence_set(struct divergence *divergence, const char *field, const char *stored,
		    const char *here)
{
	g_free(divergence->field);
	g_free(divergence->stored);
	g_free(divergence->here);
	divergence->field = g_strdup(field);
	divergence->stored = g_utf8_make_valid(stored, -1);
	divergence->here = g_utf8_make_valid(here, -1);
}

/* A value as text: cut off if it is long. */
static char *show(const json_t *value)
{
	g_autofree char *text = NULL;

	if (!value)
		return g_strdup("nothing");
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
	if (strlen(text) <= SHOWN_MAX)
		return g_steal_pointer(&text);
	*g_utf8_find_prev_char(text, text + SHOWN_MAX) = '\0';
	return g_strconcat(text, "...", NULL);
}

static void note_task(const json_t *object, struct divergence *divergence)
{
	const json_t *task = json_object_get(object, "task");

	if (!json_is_integer(task))
		task = json_object_get(object, "id");
	if (json_is_integer(task))
		divergence->task = (uint32_t)json_integer_value(task);
}

static bool differs(const json_t *stored, const json_t *here, GString *path,
		    struct divergence *divergence);

/* Whether the members of two objects differ: in the order of the keys of `stored`, then of `here`. */
static bool members_differ(const json_t *stored, const json_t *here, GString *path,
			   struct divergence *divergence)
{
	const gsize length = path->len;
	const char *key;
	json_t *value;

	note_task(stored, divergence);
	json_object_foreach ((json_t *)stored, key, value) {
		g_string_append_printf(path, "%s%s", length > 0 ? "." : "", key);
		if (differs(value, json_object_get(here, key), path, divergence))
			return true;
		g_string_truncate(path, length);
	}
	json_object_foreach ((json_t *)here, key, value) {
		if (json_object_get(stored, key))
			continue;
		g_string_append_printf(path, "%s%s", length > 0 ? "." : "", key);
		return differs(NULL, value, path, divergence);
	}
	divergence->task = UINT32_MAX;
	return false;
}

static bool elements_differ(const json_t *stored, const json_t *here, GString *path,
			    struct divergence *divergence)
{
	const gsize length = path->len;
	const size_t count = MAX(json_array_size(stored), json_array_size(here));

	for (size_t i = 0; i < count; i++) {
		g_string_append_printf(path, "[%zu]", i);
		if (differs(json_array_get(stored, i), json_array_get(here, i), path, divergence))
			return true;
		g_string_truncate(path, length);
	}
	return false;
}

static bool differs(const json_t *stored, const json_t *here, GString *path,
		    struct divergence *divergence)
{
	if (json_is_object(stored) && json_is_object(here))
		return members_differ(stored, here, path, divergence);
	if (json_is_array(stored) && json_is_array(here))
		return elements_differ(stored, here, path, divergence);
	if (stored && here && json_equal((json_t *)stored, (json_t *)here))
		return false;
	note_task(stored ?: here, divergence);

	g_autofree char *was = show(stored);
	g_autofree char *is = show(here);

	divergence_set(divergence, path->str, was, is);
	return true;
}

bool divergence_of_json(const json_t *stored, const json_t *here, const char *path,
			struct divergence *divergence)
{
	g_autoptr(GString) place = g_string_new(path);

	return differs(stored, here, place, divergence);
}

json_t *divergence_json(const struct divergence *divergence)
{
	json_t *object =
		json_pack("{s:I, s:s, s:o, s:s, s:s, s:s}", "event", (json_int_t)divergence->input,
			  "kind", divergence->kind, "time_s",
			  json_number_or_null(divergence->time_s), "field", divergence->field,
			  "stored", divergence->stored, "here", divergence->here);

	json_object_set_new(object, "task",
			    divergence->task == UINT32_MAX ? json_null()
							   : json_integer(divergence->task));
	return object;
}

char *divergence_text(const struct divergence *divergence)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "event %u (%s", divergence->input, divergence->kind);
	if (!isnan(divergence->time_s))
		g_string_append_printf(text, " at %.6f s", divergence->time_s);
	g_string_append(text, ")");
	if (divergence->task != UINT32_MAX)
		g_string_append_printf(text, ", task %u", divergence->task);
	g_string_append_printf(text, ": %s is %s in the store, and %s here", divergence->field,
			       divergence->stored, divergence->here);
	return g_string_free(g_steal_pointer(&text), FALSE);
}
