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
	GHashTable *tables;     /* struct record -> struct database_table; NULL: none yet */
};

/* A column of a record's table: its row, and where the structure that the row describes begins. */
struct database_column {
	const struct record_field *field;
	size_t base;
};

/* The columns of `record`: GArray of struct database_column, owned by the caller. */
GArray *database_columns(const struct record *record);

/* The first version of the schema in which a column exists. */
int database_column_since(const struct record *record, const struct record_field *field);

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
