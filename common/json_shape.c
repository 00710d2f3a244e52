/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/json_shape.h"

#include <string.h>

#include "common/error_fail.h"
#include "common/json.h"

#define BIT(type) (1U << (type))
#define BOOLEANS (BIT(JSON_TRUE) | BIT(JSON_FALSE))
#define NUMBERS (BIT(JSON_INTEGER) | BIT(JSON_REAL))
#define KEY_CHARACTERS G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_"

static const struct {
	const char *name;
	guint types; /* bits of jansson's types */
} words[] = {
	{"integer", BIT(JSON_INTEGER)},
	{"number", NUMBERS},
	{"string", BIT(JSON_STRING)},
	{"boolean", BOOLEANS},
	{"object", BIT(JSON_OBJECT)},
	{"array", BIT(JSON_ARRAY)},
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
		return !checks || (value && (words[i].types & BIT(json_typeof(value)))) ||
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
