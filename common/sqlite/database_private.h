/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/sqlite/database.h"

/* What the files of common/sqlite share. */

struct database {
	const struct database_kind *kind;
	sqlite3 *handle;
	char *path;
	char *name; /* of the file, in errors */
	int version;
	GHashTable *statements; /* SQL text, by its address -> sqlite3_stmt */
	GHashTable *tables;     /* struct record -> struct database_table */
};

/* A column of a record's table: its row, and where the structure that the row describes begins. */
struct database_column {
	const struct record_field *field;
	size_t base;
};

/* The table of a record. */
struct database_table {
	const struct record *record;
	GArray *columns; /* of struct database_column, in the order of the table */
	guint present;   /* how many columns the file has; the others are of later versions */
	sqlite3_stmt *put, *add;
	GHashTable *queries; /* rest of a SELECT, by its address -> sqlite3_stmt */
};

/* The columns of `record`: GArray of struct database_column, owned by the caller. */
GArray *database_columns(const struct record *record);

/*
 * Appends the statements that make the table of `record`, or its columns, of which `version` is the first one; none if
 * the record has none of that version.
 */
void database_append_schema(GString *sql, const struct record *record, int version);

/* Finalises what the table has prepared, and frees it. */
void database_table_free(void *table);

/* Prepares a statement that is kept; the caller finalises it. */
bool database_prepare(struct database *database, const char *sql, sqlite3_stmt **ret_statement,
		      GError **error);

/* Binds a value; columns count from 1. */
void database_bind(sqlite3_stmt *statement, int column, struct database_value value);

/* Executes a statement that returns no rows, and resets it. */
bool database_run(struct database *database, sqlite3_stmt *statement, const char *doing,
		  GError **error);

/* sqlite3_finalize() as a free function. */
void database_finalize(void *statement);
