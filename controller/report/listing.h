/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/record/record.h"
#include "controller/report/table.h"

/*
 * A listing: rows that were read from the runs of a directory, described once. From the description
 * come the table for people, the CSV and the JSON.
 */

struct summary;

/* A column of the table for people. */
struct listing_column {
	const char *title;
	const char *field; /* name in the record */
	int decimals;      /* of reals */
	double scale;      /* factor of reals; 0: 1 */
	const char *none;  /* where the value is unknown; NULL: "-" */
};

/* Variants of a record, for fields that are not in the JSON. */
enum {
	LISTING_CSV = 1 << 30,   /* the field is in the CSV too, beside other variants */
	LISTING_TABLE = 1 << 29, /* the field is only for the table, or for the reading */
};

struct listing {
	const char *title;
	const char *key; /* of the array in the JSON of its part; NULL: the part is the array */
	const char *csv; /* name of the CSV table; NULL: none */
	const struct record *record;          /* of a row; its names are those of JSON and CSV */
	const struct listing_column *columns; /* the last one has no title */
	const char *note;                     /* below the table in text; NULL: none */
	bool scoped;                          /* `note` begins with the runs that the rows cover */
	guint shown;                          /* most rows for people; 0: all */
	bool text_only;                       /* not on pages */
};

/* Rows of a listing. */
struct listing_rows {
	const struct listing *listing;
	GArray *array; /* of the structure of its record */
};

/* A part of a report: the listings of one subject. */
struct listing_part {
	const char *key;                   /* in the JSON of a directory */
	const struct listing *listings[3]; /* NULL-terminated */
	/* Appends the rows to the arrays of the listings. False with `error` (DATABASE_ERROR). */
	bool (*read)(const struct summary *summary, GArray **arrays, GError **error);
};

/*
 * Reads a part of `summary`, which is borrowed until the result is freed: GPtrArray of struct
 * listing_rows in the order of the listings. NULL with `error` (DATABASE_ERROR).
 */
GPtrArray *listing_read(const struct listing_part *part, const struct summary *summary,
			GError **error);

/* The rows of listing `index` of a part that was read. */
GArray *listing_array(const GPtrArray *part_rows, guint index);

/* The first `most` rows as a table; the caller frees it with table_free(). */
struct table *listing_table(const struct listing_column *columns, const struct record *record,
			    const GArray *rows, guint most);

/* As JSON: an array of objects, without the fields of variants. New reference. */
json_t *listing_json(const struct record *record, const GArray *rows);

/*
 * Appends the listings of a part that have rows, with titles and notes, each after an empty line.
 * `measured`: the rows are of measured runs.
 */
void listing_append_text(GString *text, bool measured, const GPtrArray *part_rows);

/* As JSON: the array of the only listing, or an object of arrays. New reference. */
json_t *listing_part_json(const GPtrArray *part_rows);

/* Appends a field of a row to a row of CSV (csv.h), with all digits; unknown values are empty. */
void listing_csv_field(GString *csv, const struct record_field *field, const void *row);

/* Appends ",NAME" for each field of the CSV, or the row's fields. */
void listing_csv_titles(GString *csv, const struct record *record);
void listing_csv_fields(GString *csv, const struct record *record, const void *row);

/* Appends to a list of a row (RECORD_REALS). */
void listing_add_real(double **reals, uint32_t *count, double value);
