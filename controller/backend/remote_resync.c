/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_resync.h"

#include "common/json.h"
#include "controller/backend/remote_clock.h"

/* 300 years of CPU time on a machine of one CPU; 2^58 uJ are more than any counter of energy shows. */
#define QUANTITY_MAX_S 1e10
#define QUANTITY_MAX 288230376151711744.0
#define QUOTE_MAX 64

void remote_resync_add(GString *doubts, const char *what)
{
	g_string_append_printf(doubts, "%s%s", doubts->len ? "; " : "", what);
}

/* "cpu_s": of members of members the last name alone. */
static void add_value(GString *doubts, const char *key, const json_t *value)
{
	g_autofree char *text = json_text(value);
	g_autofree char *what = g_strdup_printf("%s %.*s", key, QUOTE_MAX, text);

	remote_resync_add(doubts, what);
}

static bool is_quantity(const json_t *value, double max)
{
	return json_is_number(value) && json_number_value(value) >= 0 &&
	       json_number_value(value) <= max;
}

static bool is_time(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	       json_integer_value(value) <= REMOTE_CLOCK_MAX_NS;
}

/* Whether what is called `key` can have the value. */
static bool can_be(const char *key, const json_t *value, bool times)
{
	if (json_is_null(value))
		return true;
	if (g_str_has_suffix(key, "_ns"))
		return !times || is_time(value);
	if (g_str_has_suffix(key, "_s"))
		return is_quantity(value, QUANTITY_MAX_S);
	if (g_str_has_suffix(key, "_uj") || g_str_has_suffix(key, "_cores"))
		return is_quantity(value, QUANTITY_MAX);
	return true;
}

static json_t *settle_object(const json_t *object, bool times, GString *doubts)
{
	json_t *settled = json_object();
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		if (can_be(key, value, times)) {
			json_object_set_new(settled, key, remote_resync_settle(value, times, doubts));
		} else {
			add_value(doubts, key, value);
			json_object_set_new(settled, key, json_null());
		}
	}
	return settled;
}

json_t *remote_resync_settle(const json_t *value, bool times, GString *doubts)
{
	json_t *list;

	if (json_is_object(value))
		return settle_object(value, times, doubts);
	if (!json_is_array(value))
		return json_incref((json_t *)value);
	list = json_array();
	for (size_t i = 0; i < json_array_size(value); i++)
		json_array_append_new(list, remote_resync_settle(json_array_get(value, i), times, doubts));
	return list;
}
