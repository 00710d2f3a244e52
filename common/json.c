/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/error_fail.h"

G_DEFINE_QUARK(virtbed_json, json_error)

/*
 * An allocation of Jansson's that fails ends the program, as one of GLib's does: its functions say
 * no more of it than NULL, which is also what they say of wrong arguments and values that are not
 * there. Before main(), since nothing may have been allocated otherwise.
 */
__attribute__((constructor)) static void use_glib_memory(void)
{
	json_set_alloc_funcs(g_malloc, g_free);
}

json_t *json_parse(const char *text, size_t length, const char *what, GError **error)
{
	json_error_t where;
	json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);

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

/* Whether the comma at `at` is followed by the end of a list or object. */
static bool is_trailing(const char *text, size_t length, size_t at)
{
	for (at++; at < length && g_ascii_isspace(text[at]); at++)
		;
	return at < length && (text[at] == ']' || text[at] == '}');
}

/* Quotes words outside strings that are not JSON, and leaves commas out that nothing follows. */
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
		if (text[at] == ',' && is_trailing(text, length, at))
			continue;
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

/* Whether an escape at `at` is of a UTF-16 surrogate whose second digit is one of `halves`. */
static bool is_surrogate(const char *at, const char *halves)
{
	return strnlen(at, 6) == 6 && at[0] == '\\' && at[1] == 'u' &&
	       g_ascii_tolower(at[2]) == 'd' && strchr(halves, g_ascii_tolower(at[3]));
}

/* Mends the escape at `at`, and returns its last byte. */
static char *mend_escape(char *at)
{
	if (is_surrogate(at, "89ab") && is_surrogate(at + 6, "cdef"))
		return at + 11;
	if (is_surrogate(at, "89abcdef") || strncmp(at, "\\u0000", 6) == 0)
		memcpy(at + 2, "fffd", 4);
	else if (!at[1] || !strchr("\"\\/bfnrtu", at[1]))
		*at = ' ';
	return *at == ' ' ? at : at + 1;
}

/*
 * The text as UTF-8 without raw control characters, escapes that JSON does not know, and halves of
 * surrogate pairs. The caller frees.
 */
static char *purge(const char *text, size_t length)
{
	char *purged;

	while (length > 0 && text[length - 1] == '\0')
		length--;
	purged = g_utf8_make_valid(text, (gssize)length);
	if (g_str_has_prefix(purged, "\xef\xbb\xbf"))
		memset(purged, ' ', 3);
	for (char *at = purged; *at; at++) {
		if (*at > 0 && *at < ' ')
			*at = ' ';
		else if (*at == '\\')
			at = mend_escape(at);
	}
	return purged;
}

json_t *json_parse_lenient(const char *text, size_t length, const char *what, GError **error)
{
	json_t *value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
	g_autofree char *purged = NULL;
	json_error_t where;

	if (value)
		return value;
	purged = purge(text, length);
	value = json_loads(purged, JSON_DECODE_ANY, &where);
	if (!value)
		value = json_parse_mended(purged, strlen(purged));
	if (!value)
		g_set_error(error, JSON_ERROR, JSON_ERROR_SYNTAX,
			    "%s: line %d, column %d: not valid JSON: %s", what, where.line,
			    where.column, where.text);
	return value;
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
	static const char *const names[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
		[JSON_STRING] = "a string",  [JSON_INTEGER] = "an integer",
		[JSON_REAL] = "a number",    [JSON_TRUE] = "a boolean",
		[JSON_FALSE] = "a boolean",  [JSON_NULL] = "null",
	};

	return names[json_typeof(value)];
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

#define TYPE(type) (1U << (type))

/*
 * The value of `key`, of one of `types` (bits of TYPE()), which `expected` names; NULL with
 * `error`.
 */
static json_t *lookup(const json_t *object, const char *key, const char *what, unsigned types,
		      const char *expected, GError **error)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_object(object))
		error_fail(error, JSON_ERROR, JSON_ERROR_KEY, "%s: expected an object, got %s",
			   what, object ? json_type_name(object) : "nothing");
	else if (!value)
		error_fail(error, JSON_ERROR, JSON_ERROR_KEY, "%s: key \"%s\" is missing", what,
			   key);
	else if (!(types & TYPE(json_typeof(value))))
		error_fail(error, JSON_ERROR, JSON_ERROR_KEY, "%s: key \"%s\": expected %s, got %s",
			   what, key, expected, json_type_name(value));
	else
		return value;
	return NULL;
}

bool json_get_string(const json_t *object, const char *key, const char *what,
		     const char **ret_value, GError **error)
{
	const json_t *value = lookup(object, key, what, TYPE(JSON_STRING), "a string", error);

	if (value)
		*ret_value = json_string_value(value);
	return value;
}

bool json_get_number(const json_t *object, const char *key, const char *what, double *ret_value,
		     GError **error)
{
	const json_t *value =
		lookup(object, key, what, TYPE(JSON_INTEGER) | TYPE(JSON_REAL), "a number", error);

	if (value)
		*ret_value = json_number_value(value);
	return value;
}

bool json_get_integer(const json_t *object, const char *key, const char *what, int64_t min,
		      int64_t max, int64_t *ret_value, GError **error)
{
	const json_t *value = lookup(object, key, what, TYPE(JSON_INTEGER), "an integer", error);
	const int64_t integer = json_integer_value(value);

	if (!value)
		return false;
	if (integer < min || integer > max)
		return error_fail(error, JSON_ERROR, JSON_ERROR_KEY,
				  "%s: key \"%s\": %" PRId64 " is outside %" PRId64 "..%" PRId64,
				  what, key, integer, min, max);
	*ret_value = integer;
	return true;
}

bool json_get_array(const json_t *object, const char *key, const char *what, json_t **ret_value,
		    GError **error)
{
	json_t *value = lookup(object, key, what, TYPE(JSON_ARRAY), "an array", error);

	if (value)
		*ret_value = value;
	return value;
}

/* Shapes. */

#define BOOLEANS (TYPE(JSON_TRUE) | TYPE(JSON_FALSE))
#define NUMBERS (TYPE(JSON_INTEGER) | TYPE(JSON_REAL))
#define KEY_CHARACTERS G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_"

static const struct {
	const char *name;
	guint types; /* bits of jansson's types */
} words[] = {
	{"integer", TYPE(JSON_INTEGER)},
	{"number", NUMBERS},
	{"string", TYPE(JSON_STRING)},
	{"boolean", BOOLEANS},
	{"object", TYPE(JSON_OBJECT)},
	{"array", TYPE(JSON_ARRAY)},
	{"any", ~0U},
};

/* A shape while it is parsed. */
struct reader {
	const char *at;
	GString *place; /* path in the document */
	GError **error;
};

/*
 * Parses a type and checks `value`; `checks` false: there is no value, the shape is only skipped.
 */
static bool read_type(struct reader *reader, const json_t *value, bool checks);

/* The name of a value's type, as shapes have it: without an article. */
static const char *type_name(const json_t *value)
{
	const char *name = value ? json_type_name(value) : "nothing";
	const char *blank = strchr(name, ' ');

	return blank ? blank + 1 : name;
}

static bool fail_shape(const struct reader *reader, const char *expected, const json_t *value)
{
	return error_fail(reader->error, JSON_ERROR, JSON_ERROR_KEY, "%s: expected %s, got %s",
			  reader->place->len > 0 ? reader->place->str : "it", expected,
			  type_name(value));
}

static bool take(struct reader *reader, char c)
{
	while (*reader->at == ' ')
		reader->at++;
	if (*reader->at != c)
		return false;
	reader->at++;
	return true;
}

/* A key or the name of a type. */
static size_t word_length(struct reader *reader)
{
	while (*reader->at == ' ')
		reader->at++;
	return strspn(reader->at, KEY_CHARACTERS);
}

static bool read_word(struct reader *reader, const json_t *value, bool checks)
{
	const size_t length = word_length(reader);

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
		if (strlen(words[i].name) != length ||
		    strncmp(words[i].name, reader->at, length) != 0)
			continue;
		reader->at += length;
		return !checks || (value && (words[i].types & TYPE(json_typeof(value)))) ||
		       fail_shape(reader, words[i].name, value);
	}
	g_assert_not_reached();
}

static bool read_array(struct reader *reader, const json_t *value, bool checks)
{
	const char *element = reader->at;
	const size_t count = checks ? json_array_size(value) : 0;
	const gsize place = reader->place->len;

	if (checks && !json_is_array(value))
		return fail_shape(reader, "array", value);
	for (size_t i = 0; i < MAX(count, 1); i++) {
		reader->at = element;
		g_string_append_printf(reader->place, "[%zu]", i);
		if (!read_type(reader, json_array_get(value, i), count > 0))
			return false;
		g_string_truncate(reader->place, place);
	}
	g_assert(take(reader, ']'));
	return true;
}

static bool read_object(struct reader *reader, const json_t *value, bool checks)
{
	const gsize place = reader->place->len;

	if (checks && !json_is_object(value))
		return fail_shape(reader, "object", value);
	do {
		const size_t length = word_length(reader);
		g_autofree char *key = g_strndup(reader->at, length);

		reader->at += length;
		g_assert(*key && take(reader, ':'));
		g_string_append_printf(reader->place, "%s%s", place > 0 ? "." : "", key);
		if (!read_type(reader, json_object_get(value, key), checks))
			return false;
		g_string_truncate(reader->place, place);
	} while (take(reader, ','));
	g_assert(take(reader, '}'));
	return true;
}

static bool read_type(struct reader *reader, const json_t *value, bool checks)
{
	if (take(reader, '?'))
		checks = checks && value && !json_is_null(value);
	if (take(reader, '{'))
		return read_object(reader, value, checks);
	if (take(reader, '['))
		return read_array(reader, value, checks);
	return read_word(reader, value, checks);
}

bool json_shape_check(const char *shape, const json_t *value, GError **error)
{
	g_autoptr(GString) place = g_string_new(NULL);
	struct reader reader = {shape, place, error};

	if (!read_type(&reader, value, true))
		return false;
	g_assert(*reader.at == '\0');
	return true;
}
