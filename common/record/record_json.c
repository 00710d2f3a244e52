/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>

#include "common/json.h"
#include "common/record/record_private.h"

/* Writing. */

static json_t *numbers_to_json(const uint32_t *numbers, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(numbers[i]));
	return array;
}

static json_t *array_to_json(const struct record *of, const char *entries, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, record_to_json(of, entries + i * of->size));
	return array;
}

json_t *record_list_to_json(const struct record *of, const GPtrArray *list)
{
	json_t *array = json_array();

	for (guint i = 0; list && i < list->len; i++)
		json_array_append_new(array, record_to_json(of, list->pdata[i]));
	return array;
}

static json_t *field_to_json(const struct record_field *field, const void *data)
{
	const void *place = record_place(field, data);

	if (record_is_null(field, data))
		return json_null();
	switch (field->type) {
	case RECORD_BOOL:
		return json_boolean(*(const bool *)place);
	case RECORD_U32:
		return json_integer(*(const uint32_t *)place);
	case RECORD_I64:
		return json_integer(*(const int64_t *)place);
	case RECORD_REAL:
		return json_number_or_null(*(const double *)place);
	case RECORD_TEXT:
		return json_string_or_null(*(char *const *)place);
	case RECORD_WORD:
		return json_string(field->words[*(const int *)place]);
	case RECORD_JSON:
		return json_incref(*(json_t *const *)place) ?: json_null();
	case RECORD_STRUCT:
		return record_to_json(field->of, place);
	case RECORD_NUMBERS:
		return numbers_to_json(*(uint32_t *const *)place, *record_count(field, data));
	case RECORD_ARRAY:
		return array_to_json(field->of, *(char *const *)place, *record_count(field, data));
	case RECORD_LIST:
		return record_list_to_json(field->of, *(GPtrArray *const *)place);
	}
	return json_null();
}

json_t *record_to_json(const struct record *record, const void *data)
{
	json_t *object = json_object();

	for (const struct record_field *field = record->fields; field->name; field++)
		if (!(field->flags & RECORD_OMIT_NULL && record_is_null(field, data)))
			json_object_set_new(object, field->name, field_to_json(field, data));
	return object;
}

/* Reading. */

static bool wrong(const struct record *record, const struct record_field *field, GError **error,
		  const char *format, ...) G_GNUC_PRINTF(4, 5);

static bool wrong(const struct record *record, const struct record_field *field, GError **error,
		  const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "%s: key \"%s\": %s", record->name,
		    field->name, text);
	return false;
}

static bool read_integer(const struct record *record, const struct record_field *field,
			 const json_t *object, int64_t *ret_value, GError **error)
{
	const bool ranged = field->min < field->max;
	const bool narrow = field->type == RECORD_U32;
	const int64_t most = narrow ? UINT32_MAX : INT64_MAX;

	return json_get_integer(object, field->name, record->name,
				ranged   ? (int64_t)field->min
				: narrow ? 0
					 : INT64_MIN,
				ranged && field->max < (double)most ? (int64_t)field->max : most,
				ret_value, error);
}

static bool read_real(const struct record *record, const struct record_field *field,
		      const json_t *object, double *place, GError **error)
{
	double value;

	if (!json_get_number(object, field->name, record->name, &value, error))
		return false;
	if (field->min < field->max && !(value >= field->min && value <= field->max))
		return wrong(record, field, error, "%g is outside %g..%g", value, field->min,
			     field->max);
	*place = value;
	return true;
}

static bool read_word(const struct record *record, const struct record_field *field,
		      const json_t *object, int *place, GError **error)
{
	g_autofree char *words = NULL;
	const char *name;

	if (!json_get_string(object, field->name, record->name, &name, error))
		return false;
	*place = record_word_find(field->words, name);
	if (*place >= 0)
		return true;
	*place = 0;
	words = g_strjoinv(", ", (char **)field->words);
	return wrong(record, field, error, "'%.32s' is none of %s", name, words);
}

/* Sets the count of a list, which other lists of the structure may share. */
static bool agree_on_count(const struct record *record, const struct record_field *field,
			   void *data, size_t count, GError **error)
{
	uint32_t *place = record_count(field, data);

	for (const struct record_field *other = record->fields; other != field; other++)
		if (record_is_counted(other) && other->count_offset == field->count_offset &&
		    *(void **)record_place(other, data) && *place != count)
			return wrong(record, field, error, "%zu entries, but \"%s\" has %u", count,
				     other->name, *place);
	*place = (uint32_t)count;
	return true;
}

static bool read_numbers(const struct record *record, const struct record_field *field,
			 const json_t *array, void *data, GError **error)
{
	const double most = field->min < field->max ? field->max : UINT32_MAX;
	uint32_t *numbers = g_new0(uint32_t, json_array_size(array) + 1);

	*(uint32_t **)record_place(field, data) = numbers;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *entry = json_array_get(array, i);
		const json_int_t value = json_integer_value(entry);

		if (!json_is_integer(entry) || value < field->min || value > most)
			return wrong(record, field, error, "entry %zu is no integer in %.0f..%.0f",
				     i, field->min, most);
		numbers[i] = (uint32_t)value;
	}
	return true;
}

static bool read_array(const struct record_field *field, const json_t *array, void *data,
		       GError **error)
{
	const size_t size = field->of->size;
	char *entries = g_malloc0_n(json_array_size(array) + 1, size);

	*(char **)record_place(field, data) = entries;
	for (size_t i = 0; i < json_array_size(array); i++)
		record_init(field->of, entries + i * size);
	for (size_t i = 0; i < json_array_size(array); i++)
		if (!record_from_json(field->of, json_array_get(array, i), entries + i * size,
				      error))
			return false;
	return true;
}

GPtrArray *record_list_from_json(const struct record *record, const json_t *array, GError **error)
{
	g_autoptr(GPtrArray) list = record_list_new(record);

	if ((array && !json_is_null(array) && !json_is_array(array)) ||
	    json_array_size(array) > RECORD_LONGEST) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "%s: not a list of at most %d entries", record->name, RECORD_LONGEST);
		return NULL;
	}
	for (size_t i = 0; i < json_array_size(array); i++) {
		void *entry = record_new(record);

		g_ptr_array_add(list, entry);
		if (!record_from_json(record, json_array_get(array, i), entry, error))
			return NULL;
	}
	return g_steal_pointer(&list);
}

/* Reads a field that is a list of any kind. */
static bool read_entries(const struct record *record, const struct record_field *field,
			 const json_t *object, void *data, GError **error)
{
	const uint32_t longest = field->longest ? field->longest : RECORD_LONGEST;
	json_t *array;

	if (!json_get_array(object, field->name, record->name, &array, error))
		return false;
	if (json_array_size(array) > longest)
		return wrong(record, field, error, "more than %u entries", longest);
	if (field->type == RECORD_LIST) {
		GPtrArray *list = record_list_from_json(field->of, array, error);

		*(GPtrArray **)record_place(field, data) = list;
		return list != NULL;
	}
	return agree_on_count(record, field, data, json_array_size(array), error) &&
	       (field->type == RECORD_NUMBERS ? read_numbers(record, field, array, data, error)
					      : read_array(field, array, data, error));
}

bool record_field_from_json(const struct record *record, const struct record_field *field,
			    const json_t *object, void *data, GError **error)
{
	const json_t *value = json_object_get(object, field->name);
	void *place = record_place(field, data);
	const char *text;
	int64_t integer;

	if ((!value && field->flags & RECORD_OPTIONAL) ||
	    (json_is_null(value) && field->null != RECORD_NULL_NEVER))
		return true;
	switch (field->type) {
	case RECORD_BOOL:
		if (!json_is_boolean(value))
			return wrong(record, field, error, "expected a boolean");
		*(bool *)place = json_is_true(value);
		return true;
	case RECORD_U32:
		if (!read_integer(record, field, object, &integer, error))
			return false;
		*(uint32_t *)place = (uint32_t)integer;
		return true;
	case RECORD_I64:
		return read_integer(record, field, object, place, error);
	case RECORD_REAL:
		return read_real(record, field, object, place, error);
	case RECORD_TEXT:
		if (!json_get_string(object, field->name, record->name, &text, error))
			return false;
		*(char **)place = g_strdup(text);
		return true;
	case RECORD_WORD:
		return read_word(record, field, object, place, error);
	case RECORD_JSON:
		*(json_t **)place = json_incref((json_t *)value);
		return value || wrong(record, field, error, "is missing");
	case RECORD_STRUCT:
		return record_from_json(field->of, value, place, error);
	case RECORD_NUMBERS:
	case RECORD_ARRAY:
	case RECORD_LIST:
		return read_entries(record, field, object, data, error);
	}
	return false;
}

/* Whether all keys are those of rows. */
static bool keys_are_known(const struct record *record, const json_t *object, GError **error)
{
	g_autoptr(GString) known = NULL;
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		const struct record_field *field = record_field_find(record, key);

		if (field)
			continue;
		known = g_string_new(NULL);
		for (field = record->fields; field->name; field++)
			g_string_append_printf(known, "%s%s", known->len ? ", " : "", field->name);
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "%s: unknown key \"%.64s\"; it takes %s", record->name, key,
			    known->str);
		return false;
	}
	return true;
}

bool record_from_json(const struct record *record, const json_t *object, void *data, GError **error)
{
	if (!json_is_object(object)) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY, "%s: expected an object",
			    record->name);
		return false;
	}
	if (!record->open && !keys_are_known(record, object, error))
		goto wrong;
	for (const struct record_field *field = record->fields; field->name; field++)
		if (!record_field_from_json(record, field, object, data, error))
			goto wrong;
	return true;
wrong:
	record_clear(record, data);
	return false;
}
