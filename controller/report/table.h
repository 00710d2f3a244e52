/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A table for a person: aligned columns with titles, text left and numbers right. Columns are
 * declared first; then each row is begun and filled from left to right. Titles have the unit
 * ("energy J"). Missing cells stay blank.
 */
struct table;
typedef struct table table_t; /* for g_autoptr() */

/* The alignment of the cells of a column. */
enum table_align { TABLE_LEFT = 0, TABLE_RIGHT };

/* A table without columns. */
struct table *table_new(void);
/*
 * A table with columns, up to NULL: each title follows '<' for text or '>' for numbers, such as
 * table_with("<host", ">watts", NULL). Further columns can be added.
 */
struct table *table_with(const char *title, ...) G_GNUC_NULL_TERMINATED;
/* NULL is allowed. */
void table_free(struct table *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(table_t, table_free)

/* Adds a column; `title` is copied. Only before the first row. */
void table_column(struct table *table, const char *title, enum table_align align);

/* Adds columns with these titles, NULL-terminated; a "<" before a title marks a column of text. */
void table_columns(struct table *table, const char *title, ...) G_GNUC_NULL_TERMINATED;

/* Begins a row. */
void table_row(struct table *table);
/* Begins a group: a thin line between this row and the next. No effect at the end of a table. */
void table_rule(struct table *table);

/* Fill the next cell of the row. NULL text and numbers that are not finite become "-". */
void table_text(struct table *table, const char *text);
/* As table_text(), with a format as of printf(3). */
void table_textf(struct table *table, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* With `decimals` (0 or more) digits after the point. */
void table_number(struct table *table, double value, int decimals);
/* A whole number. */
void table_integer(struct table *table, int64_t value);

/*
 * The table as text with a newline after each line; the caller frees it. Every line is indented by
 * `indent` blanks and has no trailing blanks.
 */
char *table_format(const struct table *table, int indent);

/* Writes table_format() to `file`. */
void table_print(const struct table *table, int indent, FILE *file);

/*
 * The table as HTML: <table> with `caption` (plain text), a heading cell per column and a group of
 * rows between rules. All text is escaped. The caller frees.
 */
char *table_html(const struct table *table, const char *caption);
