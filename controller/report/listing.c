/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/listing.h"

#include <math.h>

#include "common/json.h"
#include "controller/report/csv.h"

static void rows_free(gpointer data)
{
	struct listing_rows *rows = data;
	const struct record *record = rows->listing->record;

	for (guint i = 0; i < rows->array->len; i++)
		record_clear(record, rows->array->data + i * record->size);
	g_array_unref(rows->array);
	g_free(rows);
}

GPtrArray *listing_read(const struct listing_part *part, const struct summary *summary,
			GError **error)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(rows_free);
	GArray *arrays[G_N_ELEMENTS(part->listings)] = {NULL};

	for (guint i = 0; part->listings[i]; i++) {
		struct listing_rows *rows = g_new(struct listing_rows, 1);

		rows->listing = part->listings[i];
		rows->array = arrays[i] =
			g_array_new(FALSE, FALSE, (guint)rows->listing->record->size);
		g_ptr_array_add(all, rows);
	}
	return part->read(summary, arrays, error) ? g_steal_pointer(&all) : NULL;
}

GArray *listing_array(const GPtrArray *part_rows, guint index)
{
	return ((struct listing_rows *)part_rows->pdata[index])->array;
}

void listing_add_real(double **reals, uint32_t *count, double value)
{
	*reals = g_renew(double, *reals, *count + 1);
	(*reals)[(*count)++] = value;
}

/* For people. */

/* A list of reals, "0.31 0.28", or NULL. */
static char *reals_text(const double *reals, uint32_t count, int decimals)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (uint32_t i = 0; i < count; i++)
		g_string_append_printf(text, "%s%.*f", i ? " " : "", decimals, reals[i]);
	return count ? g_strdup(text->str) : NULL;
}

static void put_cell(struct table *table, const struct listing_column *column,
		     const struct record_field *field, const void *row)
{
	const void *place = record_place(field, row);
	g_autofree char *text = NULL;

	if (field->type == RECORD_REAL && !isfinite(*(const double *)place)) {
		table_text(table, column->none);
	} else if (field->type == RECORD_REAL) {
		table_number(table,
			     *(const double *)place * (column->scale > 0 ? column->scale : 1),
			     column->decimals);
	} else if (field->type == RECORD_U32) {
		table_integer(table, *(const uint32_t *)place);
	} else if (field->type == RECORD_I64) {
		table_integer(table, *(const int64_t *)place);
	} else if (field->type == RECORD_WORD) {
		table_text(table, field->words[*(const int *)place]);
	} else if (field->type == RECORD_REALS) {
		text = reals_text(*(double *const *)place, *record_count(field, row),
				  column->decimals);
		table_text(table, text);
	} else {
		table_text(table, *(char *const *)place ?: column->none);
	}
}

struct table *listing_table(const struct listing_column *columns, const struct record *record,
			    const GArray *rows, guint most)
{
	struct table *table = table_new();

	for (const struct listing_column *column = columns; column->title; column++) {
		const enum record_type type = record_field_find(record, column->field)->type;

		table_column(table, column->title,
			     type == RECORD_REAL || type == RECORD_U32 || type == RECORD_I64
				     ? TABLE_RIGHT
				     : TABLE_LEFT);
	}
	for (guint i = 0; i < MIN(most, rows->len); i++) {
		table_row(table);
		for (const struct listing_column *column = columns; column->title; column++)
			put_cell(table, column, record_field_find(record, column->field),
				 rows->data + i * record->size);
	}
	return table;
}

void listing_append_text(GString *text, bool measured, const GPtrArray *part_rows)
{
	const char *scope = measured ? "sums over all runs of the policy; "
				     : "of the first trial, whose tasks are on record; ";

	for (guint i = 0; i < part_rows->len; i++) {
		const struct listing *listing =
			((struct listing_rows *)part_rows->pdata[i])->listing;
		const GArray *rows = listing_array(part_rows, i);
		g_autoptr(table_t) table = listing_table(listing->columns, listing->record, rows,
							 listing->shown ?: G_MAXUINT);
		g_autofree char *body = table_format(table, 2);

		if (rows->len == 0)
			continue;
		g_string_append_printf(text, "\n%s\n%s", listing->title, body);
		if (listing->note)
			g_string_append_printf(text, "  %s%s\n", listing->scoped ? scope : "",
					       listing->note);
		if (listing->shown && rows->len > listing->shown)
			g_string_append_printf(
				text, "  the first %u of %u; all: --format csv --table %s\n",
				listing->shown, rows->len, listing->csv);
	}
}

/* For programs. */

json_t *listing_json(const struct record *record, const GArray *rows)
{
	json_t *list = json_array();

	for (guint i = 0; i < rows->len; i++)
		json_array_append_new(list, record_to_json(record, rows->data + i * record->size));
	return list;
}

json_t *listing_part_json(const GPtrArray *part_rows)
{
	json_t *object = json_object();

	for (guint i = 0; i < part_rows->len; i++) {
		const struct listing *listing =
			((struct listing_rows *)part_rows->pdata[i])->listing;
		json_t *list = listing_json(listing->record, listing_array(part_rows, i));

		if (!listing->key) {
			json_decref(object);
			return list;
		}
		json_object_set_new(object, listing->key, list);
	}
	return object;
}

static bool is_in_csv(const struct record_field *field)
{
	return field->variants == 0 || field->variants & LISTING_CSV;
}

void listing_csv_titles(GString *csv, const struct record *record)
{
	for (const struct record_field *field = record->fields; field->name; field++)
		if (is_in_csv(field))
			g_string_append_printf(csv, ",%s", field->name);
}

/* All digits; a list of numbers becomes a field with blanks between them. */
static void put_reals(GString *csv, const double *reals, uint32_t count)
{
	g_autoptr(GString) text = g_string_new(NULL);
	char number[G_ASCII_DTOSTR_BUF_SIZE];

	for (uint32_t i = 0; i < count; i++)
		g_string_append_printf(text, "%s%s", i ? " " : "",
				       g_ascii_dtostr(number, sizeof(number), reals[i]));
	csv_text(csv, text->str);
}

void listing_csv_field(GString *csv, const struct record_field *field, const void *row)
{
	const void *place = record_place(field, row);
	g_autoptr(json_t) value = field->write ? field->write(field, row, NULL) : NULL;

	if (value)
		csv_text(csv, json_string_value(value));
	else if (field->type == RECORD_U32)
		csv_integer(csv, *(const uint32_t *)place);
	else if (field->type == RECORD_I64)
		csv_integer(csv, *(const int64_t *)place);
	else if (field->type == RECORD_REAL)
		put_reals(csv, place, isfinite(*(const double *)place));
	else if (field->type == RECORD_REALS)
		put_reals(csv, *(double *const *)place, *record_count(field, row));
	else if (field->type == RECORD_WORD)
		csv_text(csv, field->words[*(const int *)place]);
	else
		csv_text(csv, *(char *const *)place);
}

void listing_csv_fields(GString *csv, const struct record *record, const void *row)
{
	for (const struct record_field *field = record->fields; field->name; field++)
		if (is_in_csv(field))
			listing_csv_field(csv, field, row);
}
