/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "common/json.h"
#include "common/record/record_private.h"

/* Writing. */

static json_t *reals_to_json(const double *reals, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_number_or_null(reals[i]));
	return array;
}

static json_t *texts_to_json(char *const *texts)
{
	json_t *array = json_array();

	for (; texts && *texts; texts++)
		json_array_append_new(array, json_string(*texts));
	return array;
}

static json_t *array_to_json(const struct record *of, const char *entries, uint32_t count,
			     unsigned variant, const void *context)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array,
				      record_write(of, entries + i * of->size, variant, context));
	return array;
}

json_t *record_list_to_json(const struct record *of, const GPtrArray *list)
{
	json_t *array = json_array();

	for (guint i = 0; list && i < list->len; i++)
		json_array_append_new(array, record_to_json(of, list->pdata[i]));
	return array;
}

static json_t *field_to_json(const struct record_field *field, const void *data, unsigned variant,
			     const void *context)
{
	const void *place = record_place(field, data);

	if (record_is_null(field, data))
		return json_null();
	switch (field->type) {
	case RECORD_BOOL:
		return json_boolean(*(const bool *)place);
	case RECORD_U32:
		return json_integer(*(const uint32_t *)place);
	case RECORD_I32:
		return json_integer(*(const int32_t *)place);
	case RECORD_I64:
		return json_integer(*(const int64_t *)place);
	case RECORD_REAL:
		return json_number_or_null(*(const double *)place);
	case RECORD_TEXT:
	case RECORD_BORROWED:
		return json_string_or_null(*(char *const *)place);
	case RECORD_WORD:
		return json_string(field->words[*(const int *)place]);
	case RECORD_JSON:
		return json_incref(*(json_t *const *)place) ?: json_null();
	case RECORD_STRUCT:
		return record_write(field->of, place, variant, context);
	case RECORD_NUMBERS:
		return json_numbers(*(uint32_t *const *)place, *record_count(field, data));
	case RECORD_REALS:
		return reals_to_json(*(double *const *)place, *record_count(field, data));
	case RECORD_ARRAY:
		return array_to_json(field->of, record_entries(field, data),
				     *record_count(field, data), variant, context);
	case RECORD_TEXTS:
		return texts_to_json(*(char **const *)place);
	case RECORD_LIST:
		return record_list_to_json(field->of, *(GPtrArray *const *)place);
	case RECORD_BYTES:
		break;
	}
	return json_null();
}

/* Whether a structure of `variant` has the key. */
static bool has_key(const struct record_field *field, unsigned variant)
{
	return field->variants == 0 || field->variants & variant;
}

json_t *record_write(const struct record *record, const void *data, unsigned variant,
		     const void *context)
{
	json_t *object = json_object();

	for (const struct record_field *field = record->fields; field->name; field++) {
		if (!has_key(field, variant) ||
		    (field->flags & RECORD_OMIT_NULL && record_is_null(field, data)) ||
		    (field->flags & RECORD_OMIT_ZERO && record_is_zero(field, data)))
			continue;
		json_object_set_new_nocheck(object, field->name,
					    field->write
						    ? field->write(field, data, context)
						    : field_to_json(field, data, variant, context));
	}
	return object;
}

json_t *record_to_json(const struct record *record, const void *data)
{
	return record_write(record, data, 0, NULL);
}

/* Reading. */

/* Appends the name or the place of a structure, such as "tasks[3].utility". */
static void append_place(GString *text, const struct record_reading *reading)
{
	if (reading->record->name || !reading->above) {
		g_string_append(text, reading->record->name ?: "");
		return;
	}
	append_place(text, reading->above);
	if (text->len > 0)
		g_string_append(text, reading->above->record->name ? ": " : ".");
	g_string_append(text, reading->key);
	if (reading->index != SIZE_MAX)
		g_string_append_printf(text, "[%zu]", reading->index);
}

bool record_refuse(const struct record_reading *reading, const char *format, ...)
{
	g_autoptr(GString) text = g_string_new(NULL);
	va_list arguments;

	append_place(text, reading);
	if (text->len > 0)
		g_string_append(text, ": ");
	va_start(arguments, format);
	g_string_append_vprintf(text, format, arguments);
	va_end(arguments);
	g_set_error_literal(reading->error, JSON_ERROR, JSON_ERROR_KEY, text->str);
	return false;
}

static bool expected(const struct record_reading *reading, const struct record_field *field,
		     const char *what, const json_t *value)
{
	return record_refuse(reading, "key \"%s\": expected %s, got %s", field->name, what,
			     json_type_name(value));
}

static bool read_integer(const struct record_reading *reading, const struct record_field *field,
			 const json_t *value, int64_t *ret_value)
{
	const bool ranged = field->min < field->max;
	int64_t least = field->type == RECORD_U32   ? 0
			: field->type == RECORD_I32 ? INT32_MIN
						    : INT64_MIN;
	int64_t most = field->type == RECORD_U32   ? UINT32_MAX
		       : field->type == RECORD_I32 ? INT32_MAX
						   : INT64_MAX;

	if (!json_is_integer(value))
		return expected(reading, field, "an integer", value);
	if (ranged && field->max < (double)most)
		most = (int64_t)field->max;
	if (ranged)
		least = (int64_t)field->min;
	*ret_value = json_integer_value(value);
	return (*ret_value >= least && *ret_value <= most) ||
	       record_refuse(reading, "key \"%s\": %" PRId64 " is outside %" PRId64 "..%" PRId64,
			     field->name, *ret_value, least, most);
}

static bool read_real(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, double *place)
{
	if (!json_is_number(value))
		return expected(reading, field, "a number", value);
	*place = json_number_value(value);
	return field->min >= field->max || (*place >= field->min && *place <= field->max) ||
	       record_refuse(reading, "key \"%s\": %g is outside %g..%g", field->name, *place,
			     field->min, field->max);
}

static bool read_word(const struct record_reading *reading, const struct record_field *field,
		      const json_t *value, int *place)
{
	g_autofree char *words = NULL;
	int word;

	if (!json_is_string(value))
		return expected(reading, field, "a string", value);
	word = record_word_find(field->words, json_string_value(value));
	if (word >= 0) {
		*place = word;
		return true;
	}
	words = g_strjoinv(", ", (char **)field->words);
	return record_refuse(reading, "key \"%s\": '%.32s' is none of %s", field->name,
			     json_string_value(value), words);
}

/* Sets the count of a list, which other lists of the structure may share. */
static bool agree_on_count(const struct record_reading *reading, const struct record_field *field,
			   void *data, size_t count)
{
	uint32_t *place = record_count(field, data);

	for (const struct record_field *other = reading->record->fields; other != field; other++)
		if (record_is_counted(other) && other->count_offset == field->count_offset &&
		    record_entries(other, data) && *place != count)
			return record_refuse(reading, "key \"%s\": %zu entries, but \"%s\" has %u",
					     field->name, count, other->name, *place);
	*place = (uint32_t)count;
	return true;
}

static bool read_numbers(const struct record_reading *reading, const struct record_field *field,
			 const json_t *array, void *data)
{
	const double most = field->min < field->max ? field->max : UINT32_MAX;
	uint32_t *numbers = g_new0(uint32_t, json_array_size(array) + 1);

	*(uint32_t **)record_place(field, data) = numbers;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *entry = json_array_get(array, i);
		const json_int_t value = json_integer_value(entry);

		if (!json_is_integer(entry) || value < field->min || value > most)
			return record_refuse(reading,
					     "key \"%s\": entry %zu is no integer in %.0f..%.0f",
					     field->name, i, field->min, most);
		numbers[i] = (uint32_t)value;
	}
	return true;
}

static bool read_reals(const struct record_reading *reading, const struct record_field *field,
		       const json_t *array, void *data)
{
	const bool ranged = field->min < field->max;
	double *reals = g_new0(double, json_array_size(array) + 1);

	*(double **)record_place(field, data) = reals;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *entry = json_array_get(array, i);

		reals[i] = json_number_value(entry);
		if (!json_is_number(entry))
			return record_refuse(reading, "key \"%s\": expected numbers, got %s",
					     field->name, json_type_name(entry));
		if (ranged && !(reals[i] >= field->min && reals[i] <= field->max))
			return record_refuse(reading,
					     "key \"%s\": %g is given; numbers are from %g to %g",
					     field->name, reals[i], field->min, field->max);
	}
	return true;
}

static bool read_texts(const struct record_reading *reading, const struct record_field *field,
		       const json_t *array, char ***place)
{
	*place = g_new0(char *, json_array_size(array) + 1);
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = json_string_value(json_array_get(array, i));

		if (!text)
			return record_refuse(reading, "%s: not a list of texts", field->name);
		(*place)[i] = g_strdup(text);
	}
	return true;
}

/* The reading of what a key of a structure holds. */
static struct record_reading below(const struct record_reading *reading,
				   const struct record_field *field)
{
	struct record_reading entry = *reading;

	entry.record = field->of;
	entry.above = reading;
	entry.key = field->name;
	entry.index = SIZE_MAX;
	return entry;
}

static bool read_structure(const struct record_reading *reading, const json_t *object, void *data);

static bool read_array(const struct record_reading *reading, const struct record_field *field,
		       const json_t *array, void *data)
{
	struct record_reading entry = below(reading, field);
	const size_t size = field->of->size;

	if (!(field->flags & RECORD_EMBEDDED))
		*(char **)record_place(field, data) = g_malloc0_n(json_array_size(array) + 1, size);
	for (entry.index = 0; entry.index < json_array_size(array); entry.index++) {
		char *place = record_entries(field, data) + entry.index * size;

		record_init(field->of, place);
		if (!read_structure(&entry, json_array_get(array, entry.index), place))
			return false;
	}
	return true;
}

/* Reads the elements of a list into an empty `list`. */
static bool read_list(struct record_reading *entry, const json_t *array, GPtrArray *list)
{
	for (entry->index = 0; entry->index < json_array_size(array); entry->index++) {
		void *element = record_new(entry->record);

		g_ptr_array_add(list, element);
		if (!read_structure(entry, json_array_get(array, entry->index), element))
			return false;
	}
	return true;
}

GPtrArray *record_list_from_json(const struct record *record, const json_t *array, GError **error)
{
	g_autoptr(GPtrArray) list = record_list_new(record);
	struct record_reading entry = {.record = record, .error = error};

	if ((array && !json_is_null(array) && !json_is_array(array)) ||
	    json_array_size(array) > RECORD_LONGEST) {
		g_set_error(error, JSON_ERROR, JSON_ERROR_KEY,
			    "%s: not a list of at most %d entries", record->name, RECORD_LONGEST);
		return NULL;
	}
	return read_list(&entry, array, list) ? g_steal_pointer(&list) : NULL;
}

/* Reads a field that is a list of any kind. */
static bool read_entries(const struct record_reading *reading, const struct record_field *field,
			 const json_t *array, void *data)
{
	const uint32_t longest = field->longest ? field->longest : RECORD_LONGEST;
	struct record_reading entry;

	if (!json_is_array(array))
		return expected(reading, field, "an array", array);
	if (json_array_size(array) > longest)
		return record_refuse(reading, "key \"%s\": more than %u entries", field->name,
				     longest);
	if (field->type == RECORD_LIST) {
		GPtrArray *list = record_list_new(field->of);

		*(GPtrArray **)record_place(field, data) = list;
		entry = below(reading, field);
		return read_list(&entry, array, list);
	}
	if (field->type == RECORD_TEXTS)
		return read_texts(reading, field, array, record_place(field, data));
	return agree_on_count(reading, field, data, json_array_size(array)) &&
	       (field->type == RECORD_NUMBERS ? read_numbers(reading, field, array, data)
		: field->type == RECORD_REALS ? read_reals(reading, field, array, data)
					      : read_array(reading, field, array, data));
}

bool record_read_value(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	void *place = record_place(field, data);
	struct record_reading entry;
	int64_t integer;

	switch (field->type) {
	case RECORD_BOOL:
		if (!json_is_boolean(value))
			return record_refuse(reading, "key \"%s\": expected a boolean",
					     field->name);
		*(bool *)place = json_is_true(value);
		return true;
	case RECORD_U32:
	case RECORD_I32:
		if (!read_integer(reading, field, value, &integer))
			return false;
		*(uint32_t *)place = (uint32_t)integer;
		return true;
	case RECORD_I64:
		return read_integer(reading, field, value, place);
	case RECORD_REAL:
		return read_real(reading, field, value, place);
	case RECORD_TEXT:
	case RECORD_BORROWED:
		if (!json_is_string(value))
			return expected(reading, field, "a string", value);
		*(const char **)place = field->type == RECORD_TEXT
						? g_strdup(json_string_value(value))
						: json_string_value(value);
		return true;
	case RECORD_WORD:
		return read_word(reading, field, value, place);
	case RECORD_JSON:
		*(json_t **)place = json_incref((json_t *)value);
		return true;
	case RECORD_STRUCT:
		entry = below(reading, field);
		return read_structure(&entry, value, place);
	case RECORD_NUMBERS:
	case RECORD_REALS:
	case RECORD_ARRAY:
	case RECORD_LIST:
	case RECORD_TEXTS:
		return read_entries(reading, field, value, data);
	case RECORD_BYTES:
		break;
	}
	return false;
}

/* Reads `value` of a key, which may be NULL. */
static bool read_field(const struct record_reading *reading, const struct record_field *field,
		       const json_t *value, void *data)
{
	if (!value)
		return field->flags & RECORD_OPTIONAL ||
		       record_refuse(reading, "key \"%s\" is missing", field->name);
	if (json_is_null(value) && (field->null != RECORD_NULL_NEVER ||
				    (field->flags & RECORD_OPTIONAL && field->type == RECORD_BOOL)))
		return true;
	return field->read ? field->read(reading, field, value, data)
			   : record_read_value(reading, field, value, data);
}

bool record_field_from_json(const struct record *record, const struct record_field *field,
			    const json_t *object, void *data, GError **error)
{
	const struct record_reading reading = {.record = record, .error = error};

	return read_field(&reading, field, json_object_get(object, field->name), data);
}

/* Whether a row has the key. Makes `known` a list of all keys otherwise. */
static bool is_known(const struct record_reading *reading, const char *key, GString *known)
{
	const char *between = reading->record->name ? ", " : " ";

	g_string_truncate(known, 0);
	for (const struct record_field *field = reading->record->fields; field->name; field++) {
		if (!has_key(field, reading->variant))
			continue;
		if (g_str_equal(field->name, key))
			return true;
		g_string_append_printf(known, "%s%s", known->len ? between : "", field->name);
	}
	return false;
}

/* Refuses the first key without a row, in place of another error. */
static bool keys_are_known(const struct record_reading *reading, const json_t *object)
{
	g_autoptr(GString) known = g_string_new(NULL);
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		if (is_known(reading, key, known))
			continue;
		g_clear_error(reading->error);
		return record_refuse(reading, "unknown key \"%.64s\"; %s %s", key,
				     reading->record->name ? "it takes" : "known:", known->str);
	}
	return true;
}

static bool read_structure(const struct record_reading *reading, const json_t *object, void *data)
{
	const struct record *record = reading->record;
	size_t known = 0;
	bool good = json_is_object(object) || record_refuse(reading, "expected an object");

	for (const struct record_field *field = record->fields; good && field->name; field++) {
		const json_t *value;

		if (!has_key(field, reading->variant))
			continue;
		value = json_object_get(object, field->name);
		known += value != NULL;
		good = read_field(reading, field, value, data);
	}
	if (!record->open && json_is_object(object) && (!good || known < json_object_size(object)))
		good = keys_are_known(reading, object) && good;
	good = good && (!record->check || record->check(reading, data));
	if (!good)
		record_clear(record, data);
	return good;
}

bool record_read(const struct record *record, const json_t *object, void *data, unsigned variant,
		 void *context, GError **error)
{
	const struct record_reading reading = {.record = record,
					       .variant = variant,
					       .context = context,
					       .error = error};

	return read_structure(&reading, object, data);
}

bool record_from_json(const struct record *record, const json_t *object, void *data, GError **error)
{
	return record_read(record, object, data, 0, NULL, error);
}
