/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/remote_sanitize.h"

#include "common/json.h"
#include "common/wire/wire_report.h"

/* 300 years of CPU time of a single CPU; 2^58 uJ are more than any energy counter shows. */
#define QUANTITY_MAX_S 1e10
#define QUANTITY_MAX 288230376151711744.0
#define QUOTE_MAX 64

void remote_sanitize_add(GString *doubts, const char *what)
{
	g_string_append_printf(doubts, "%s%s", doubts->len ? "; " : "", what);
}

/* Appends "cpu_s VALUE"; for nested members only the last name. */
static void add_value(GString *doubts, const char *key, const json_t *value)
{
	g_autofree char *text = json_text(value);
	g_autofree char *what = g_strdup_printf("%s %.*s", key, QUOTE_MAX, text);

	remote_sanitize_add(doubts, what);
}

static bool is_quantity(const json_t *value, double max)
{
	return json_is_number(value) && json_number_value(value) >= 0 &&
	       json_number_value(value) <= max;
}

static bool is_time(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	       json_integer_value(value) <= WIRE_CLOCK_MAX_NS;
}

/* Whether `value` is possible for the member `key`. */
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

static json_t *sanitize_object(const json_t *object, bool times, GString *doubts)
{
	json_t *clean = json_object();
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		if (can_be(key, value, times)) {
			json_object_set_new(clean, key, remote_sanitize(value, times, doubts));
		} else {
			add_value(doubts, key, value);
			json_object_set_new(clean, key, json_null());
		}
	}
	return clean;
}

json_t *remote_sanitize(const json_t *value, bool times, GString *doubts)
{
	json_t *list;

	if (json_is_object(value))
		return sanitize_object(value, times, doubts);
	if (!json_is_array(value))
		return json_incref((json_t *)value);
	list = json_array();
	for (size_t i = 0; i < json_array_size(value); i++)
		json_array_append_new(list,
				      remote_sanitize(json_array_get(value, i), times, doubts));
	return list;
}
