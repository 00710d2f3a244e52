/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/record/record.h"

#include <math.h>
#include <string.h>

#include "common/record/record_private.h"

int record_word_find(const char *const *words, const char *name)
{
	for (int i = 0; name && words[i]; i++)
		if (g_str_equal(words[i], name))
			return i;
	return -1;
}

const struct record_field *record_field_find(const struct record *record, const char *name)
{
	for (const struct record_field *field = record->fields; field->name; field++)
		if (g_str_equal(field->name, name))
			return field;
	return NULL;
}

void record_init(const struct record *record, void *data)
{
	memset(data, 0, record->size);
	for (const struct record_field *field = record->fields; field->name; field++) {
		void *place = record_place(field, data);

		if (field->type == RECORD_STRUCT)
			record_init(field->of, place);
		else if (field->type == RECORD_REAL && field->null == RECORD_NULL_NAN)
			*(double *)place = (double)NAN;
		else if (field->type == RECORD_REAL && field->null == RECORD_NULL_INFINITY)
			*(double *)place = (double)INFINITY;
		else if (field->type == RECORD_I64 && field->null == RECORD_NULL_MINUS_ONE)
			*(int64_t *)place = -1;
	}
}

void *record_new(const struct record *record)
{
	void *data = g_malloc(record->size);

	record_init(record, data);
	return data;
}

/* Frees what the field at `place` owns. */
static void clear_field(const struct record_field *field, void *data, void *place)
{
	char **pointer = place;
	char *entries;

	switch (field->type) {
	case RECORD_TEXT:
	case RECORD_NUMBERS:
	case RECORD_REALS:
		g_free(*pointer);
		break;
	case RECORD_JSON:
		json_decref(*(json_t **)place);
		break;
	case RECORD_STRUCT:
		record_clear(field->of, place);
		break;
	case RECORD_ARRAY:
		entries = record_entries(field, data);
		for (uint32_t i = 0; entries && i < *record_count(field, data); i++)
			record_clear(field->of, entries + i * field->of->size);
		if (!(field->flags & RECORD_EMBEDDED))
			g_clear_pointer(pointer, g_free);
		break;
	case RECORD_LIST:
		g_clear_pointer((GPtrArray **)place, g_ptr_array_unref);
		break;
	case RECORD_TEXTS:
		g_strfreev(*(char ***)place);
		break;
	case RECORD_BYTES:
		g_bytes_unref(*(GBytes **)place);
		break;
	default:
		break;
	}
}

void record_clear(const struct record *record, void *data)
{
	for (const struct record_field *field = record->fields; field->name; field++)
		clear_field(field, data, record_place(field, data));
	record_init(record, data);
}

void record_free(const struct record *record, void *data)
{
	if (!data)
		return;
	record_clear(record, data);
	g_free(data);
}

static void copy_field(const struct record_field *field, const void *from, void *to)
{
	const char *const *source = record_place(field, from);
	char **target = record_place(field, to);
	const uint32_t count = record_is_counted(field) ? *record_count(field, from) : 0;
	char *entries;

	switch (field->type) {
	case RECORD_TEXT:
		*target = g_strdup(*source);
		break;
	case RECORD_NUMBERS:
	case RECORD_REALS:
		*target = *source ? g_malloc0_n(count + 1, record_entry_size(field)) : NULL;
		if (*source)
			memcpy(*target, *source, count * record_entry_size(field));
		break;
	case RECORD_JSON:
		*(json_t **)target = json_deep_copy(*(json_t *const *)source);
		break;
	case RECORD_STRUCT:
		record_copy_to(field->of, source, target);
		break;
	case RECORD_ARRAY:
		entries = record_entries(field, from);
		if (!(field->flags & RECORD_EMBEDDED))
			*target = entries ? g_malloc0_n(count + 1, field->of->size) : NULL;
		for (uint32_t i = 0; entries && i < count; i++)
			record_copy_to(field->of, entries + i * field->of->size,
				       record_entries(field, to) + i * field->of->size);
		break;
	case RECORD_TEXTS:
		*(char ***)target = g_strdupv(*(char **const *)source);
		break;
	case RECORD_BYTES:
		*(GBytes **)target = *source ? g_bytes_ref(*(GBytes *const *)source) : NULL;
		break;
	case RECORD_LIST: {
		const GPtrArray *list = *(GPtrArray *const *)source;

		*(GPtrArray **)target = list ? record_list_new(field->of) : NULL;
		for (guint i = 0; list && i < list->len; i++)
			g_ptr_array_add(*(GPtrArray **)target,
					record_copy(field->of, list->pdata[i]));
		break;
	}
	default:
		break;
	}
}

void record_copy_to(const struct record *record, const void *from, void *to)
{
	memcpy(to, from, record->size);
	for (const struct record_field *field = record->fields; field->name; field++)
		copy_field(field, from, to);
}

void *record_copy(const struct record *record, const void *data)
{
	void *copy = g_malloc(record->size);

	record_copy_to(record, data, copy);
	return copy;
}

static bool lists_equal(const struct record *of, const GPtrArray *a, const GPtrArray *b)
{
	if (!a || !b || a->len != b->len)
		return a == b;
	for (guint i = 0; i < a->len; i++)
		if (!record_equal(of, a->pdata[i], b->pdata[i]))
			return false;
	return true;
}

static bool texts_equal(char **a, char **b)
{
	return a && b ? g_strv_equal((const char *const *)a, (const char *const *)b) : a == b;
}

static bool bytes_equal(GBytes *a, GBytes *b)
{
	return a && b ? g_bytes_equal(a, b) : a == b;
}

static bool fields_equal(const struct record_field *field, const void *a, const void *b)
{
	const void *left = record_place(field, a);
	const void *right = record_place(field, b);
	const char *x = NULL;
	const char *y = NULL;
	uint32_t count = 0;

	if (record_is_counted(field)) {
		count = *record_count(field, a);
		x = record_entries(field, a);
		y = record_entries(field, b);
		if (!x || !y || count != *record_count(field, b))
			return x == y;
	}
	switch (field->type) {
	case RECORD_BOOL:
		return *(const bool *)left == *(const bool *)right;
	case RECORD_U32:
		return *(const uint32_t *)left == *(const uint32_t *)right;
	case RECORD_I32:
		return *(const int32_t *)left == *(const int32_t *)right;
	case RECORD_I64:
		return *(const int64_t *)left == *(const int64_t *)right;
	case RECORD_WORD:
		return *(const int *)left == *(const int *)right;
	case RECORD_REAL:
		return *(const double *)left == *(const double *)right ||
		       (isnan(*(const double *)left) && isnan(*(const double *)right));
	case RECORD_TEXT:
		return g_strcmp0(*(char *const *)left, *(char *const *)right) == 0;
	case RECORD_JSON:
		return *(json_t *const *)left == *(json_t *const *)right ||
		       json_equal(*(json_t *const *)left, *(json_t *const *)right);
	case RECORD_STRUCT:
		return record_equal(field->of, left, right);
	case RECORD_NUMBERS:
	case RECORD_REALS:
		return memcmp(x, y, count * record_entry_size(field)) == 0;
	case RECORD_BORROWED:
		return *(const void *const *)left == *(const void *const *)right;
	case RECORD_ARRAY:
		for (uint32_t i = 0; i < count; i++)
			if (!record_equal(field->of, x + i * field->of->size,
					  y + i * field->of->size))
				return false;
		return true;
	case RECORD_BYTES:
		return bytes_equal(*(GBytes *const *)left, *(GBytes *const *)right);
	case RECORD_TEXTS:
		return texts_equal(*(char **const *)left, *(char **const *)right);
	case RECORD_LIST:
		return lists_equal(field->of, *(GPtrArray *const *)left,
				   *(GPtrArray *const *)right);
	}
	return false;
}

bool record_equal(const struct record *record, const void *a, const void *b)
{
	for (const struct record_field *field = record->fields; field->name; field++)
		if (!fields_equal(field, a, b))
			return false;
	return true;
}

GPtrArray *record_list_new(const struct record *record)
{
	return g_ptr_array_new_with_free_func(record->free);
}

bool record_is_null(const struct record_field *field, const void *data)
{
	const void *place = record_place(field, data);

	switch (field->null) {
	case RECORD_NULL_NEVER:
		return false;
	case RECORD_NULL_ZERO:
		return record_is_zero(field, data);
	case RECORD_NULL_MINUS_ONE:
		return *(const int64_t *)place == -1;
	case RECORD_NULL_NAN:
	case RECORD_NULL_INFINITY:
		return !isfinite(*(const double *)place);
	case RECORD_NULL_POINTER:
		return !*(const void *const *)place;
	}
	return false;
}

bool record_is_zero(const struct record_field *field, const void *data)
{
	const void *place = record_place(field, data);

	if (record_is_counted(field))
		return *record_count(field, data) == 0;
	switch (field->type) {
	case RECORD_BOOL:
		return !*(const bool *)place;
	case RECORD_U32:
	case RECORD_I32:
	case RECORD_WORD:
		return *(const uint32_t *)place == 0;
	case RECORD_I64:
		return *(const int64_t *)place == 0;
	case RECORD_REAL:
		return *(const double *)place == 0;
	case RECORD_STRUCT:
		return false;
	default:
		return !*(const void *const *)place;
	}
}
