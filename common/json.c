/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json.h"

#include <inttypes.h>
#include <math.h>

G_DEFINE_QUARK(virtbed-json, json_error)

json_t *json_parse(const char *text, size_t length, const char *what, GError **error)
{
	json_error_t where;
	json_t *value =
		json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);

	if (!value)
		g_set_error(error, JSON_ERROR, JSON_ERROR_SYNTAX,
			    "%s: line %d, column %d: not valid JSON: %s", what, where.line,
			    where.column, where.text);
	return value;
}

static bool is_word(char c)
{
	return g_ascii_isalnum(c) || c == '+' || c == '-' || c == '.' || c == '_';
}

/* The end of the string that begins at `at`, or of the text. */
static size_t string_end(const char *text, size_t length, size_t at)
{
	for (at++; at < length && text[at] != '"'; at++)
		at += text[at] == '\\';
	return MIN(at + 1, length);
}

/* Quotes words outside strings that are not JSON. */
json_t *json_parse_mended(const char *text, size_t length)
{
	g_autoptr(GString) mended = g_string_sized_new(length);
	size_t end;

	for (size_t at = 0; at < length; at = end) {
		json_t *word = NULL;
		const bool worded = is_word(text[at]);

		end = at + 1;
		if (text[at] == '"')
			end = string_end(text, length, at);
		while (worded && end < length && is_word(text[end]))
			end++;
		if (worded)
			word = json_loadb(text + at, end - at, JSON_DECODE_ANY, NULL);
		if (worded && !word)
			g_string_append_c(mended, '"');
		g_string_append_len(mended, text + at, (gssize)(end - at));
		if (worded && !word)
			g_string_append_c(mended, '"');
		json_decref(word);
	}
	return json_parse(mended->str, mended->len, "answer", NULL);
}

static int append_to_string(const char *buffer, size_t size, void *data)
{
	g_string_append_len(data, buffer, (gssize)size);
	return 0;
}

static char *dump(const json_t *value, size_t layout)
{
	GString *text = g_string_new(NULL);

	json_dump_callback(value, append_to_string, text,
			   layout | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
	return g_string_free(text, FALSE);
}

char *json_text(const json_t *value)
{
	return dump(value, JSON_COMPACT);
}

char *json_pretty(const json_t *value)
{
	return dump(value, JSON_INDENT(2));
}

const char *json_type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

/* The value of `key`, or NULL with `error`. */
static json_t *lookup(const json_t *object, const char *key, const char *what, GError **error)
{
	json_t *value;

	if (!json_is_object(object)) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "%s: expected an object, got %s",
			    what, object ? json_type_name(object) : "nothing");
		return NULL;
	}
	value = json_object_get(object, key);
	if (!value)
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "%s: key \"%s\" is missing", what,
			    key);
	return value;
}

static bool wrong_type(const json_t *value, const char *key, const char *what,
		       const char *expected, GError **error)
{
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "%s: key \"%s\": expected %s, got %s", what,
		    key, expected, json_type_name(value));
	return false;
}

json_t *json_number_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_numbers(const uint32_t *numbers, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(numbers[i]));
	return array;
}

json_t *json_string_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

bool json_get_string(const json_t *object, const char *key, const char *what,
		     const char **ret_value, GError **error)
{
	const json_t *value = lookup(object, key, what, error);

	if (!value)
		return false;
	if (!json_is_string(value))
		return wrong_type(value, key, what, "a string", error);
	*ret_value = json_string_value(value);
	return true;
}

bool json_get_number(const json_t *object, const char *key, const char *what, double *ret_value,
		     GError **error)
{
	const json_t *value = lookup(object, key, what, error);

	if (!value)
		return false;
	if (!json_is_number(value))
		return wrong_type(value, key, what, "a number", error);
	*ret_value = json_number_value(value);
	return true;
}

bool json_get_integer(const json_t *object, const char *key, const char *what, int64_t min,
		      int64_t max, int64_t *ret_value, GError **error)
{
	const json_t *value = lookup(object, key, what, error);
	int64_t integer;

	if (!value)
		return false;
	if (!json_is_integer(value))
		return wrong_type(value, key, what, "an integer", error);
	integer = json_integer_value(value);
	if (integer < min || integer > max) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "%s: key \"%s\": %" PRId64 " is outside %" PRId64 "..%" PRId64, what,
			    key, integer, min, max);
		return false;
	}
	*ret_value = integer;
	return true;
}

bool json_get_array(const json_t *object, const char *key, const char *what, json_t **ret_value,
		    GError **error)
{
	json_t *value = lookup(object, key, what, error);

	if (!value)
		return false;
	if (!json_is_array(value))
		return wrong_type(value, key, what, "an array", error);
	*ret_value = value;
	return true;
}
