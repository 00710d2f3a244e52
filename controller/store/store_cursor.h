/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>

#include "controller/store/store_private.h"

/*
 * Binds and reads values in the order of the columns: the cursor counts them. NAN is NULL in SQL,
 * as is a missing string.
 */
struct cursor {
	sqlite3_stmt *statement;
	int next;
};

static inline struct cursor writing(sqlite3_stmt *statement)
{
	return (struct cursor){statement, 1};
}

static inline struct cursor reading(sqlite3_stmt *statement)
{
	return (struct cursor){statement, 0};
}

/* The text must stay valid until the statement has run. */
static inline void put_text(struct cursor *cursor, const char *text)
{
	sqlite3_bind_text(cursor->statement, cursor->next++, text, -1, SQLITE_STATIC);
}

static inline void put_integer(struct cursor *cursor, int64_t value)
{
	sqlite3_bind_int64(cursor->statement, cursor->next++, value);
}

static inline void put_real(struct cursor *cursor, double value)
{
	sqlite3_bind_double(cursor->statement, cursor->next++, value);
}

/* Borrowed until the next step. */
static inline const char *peek_text(struct cursor *cursor)
{
	return (const char *)sqlite3_column_text(cursor->statement, cursor->next++);
}

/* Makes the text valid UTF-8, since it goes into JSON and onto terminals. */
static inline char *copy_text(const char *text)
{
	return text ? g_utf8_make_valid(text, -1) : NULL;
}

static inline char *get_text(struct cursor *cursor)
{
	return copy_text(peek_text(cursor));
}

static inline int64_t get_integer(struct cursor *cursor)
{
	return sqlite3_column_int64(cursor->statement, cursor->next++);
}

/* A value that is no count becomes UINT32_MAX, which is no row's number. */
static inline uint32_t get_count(struct cursor *cursor)
{
	const int64_t value = get_integer(cursor);

	return value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static inline double get_real(struct cursor *cursor)
{
	int column = cursor->next++;

	if (sqlite3_column_type(cursor->statement, column) == SQLITE_NULL)
		return NAN;
	return sqlite3_column_double(cursor->statement, column);
}

/* Reads one row into a new structure. */
typedef gpointer (*read_row_f)(struct cursor *cursor);

/* All rows of a bound statement, each freed by `free_row`. */
static inline GPtrArray *list_rows(struct store *store, sqlite3_stmt *statement, read_row_f read_row,
			    GDestroyNotify free_row, const char *doing, GError **error)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);
	int code;

	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct cursor cursor = reading(statement);

		g_ptr_array_add(rows, read_row(&cursor));
	}
	if (code != SQLITE_DONE)
		store_fail(store, code, doing, error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE ? g_steal_pointer(&rows) : NULL;
}

/* The rows of a statement whose one argument is a run. */
static inline GPtrArray *list_of_run(struct store *store, enum store_statement which, int64_t run,
			      read_row_f read_row, GDestroyNotify free_row, const char *doing,
			      GError **error)
{
	sqlite3_stmt *statement = store_statement(store, which, error);

	if (!statement)
		return NULL;
	sqlite3_bind_int64(statement, 1, run);
	return list_rows(store, statement, read_row, free_row, doing, error);
}

/* As list_of_run(); empty where the file is older than `version`, the first one with the table. */
static inline GPtrArray *list_of_run_since(struct store *store, int version,
					   enum store_statement which, int64_t run,
					   read_row_f read_row, GDestroyNotify free_row,
					   const char *doing, GError **error)
{
	if (store->version < version)
		return g_ptr_array_new_with_free_func(free_row);
	return list_of_run(store, which, run, read_row, free_row, doing, error);
}

/* As list_of_run_since(), for a statement with the arguments run, task and attempt. */
static inline GPtrArray *list_of_attempt_since(struct store *store, int version,
					       enum store_statement which, int64_t run,
					       uint32_t task, uint32_t attempt,
					       read_row_f read_row, GDestroyNotify free_row,
					       const char *doing, GError **error)
{
	sqlite3_stmt *statement;

	if (store->version < version)
		return g_ptr_array_new_with_free_func(free_row);
	statement = store_statement(store, which, error);
	if (!statement)
		return NULL;
	sqlite3_bind_int64(statement, 1, run);
	sqlite3_bind_int64(statement, 2, task);
	sqlite3_bind_int64(statement, 3, attempt);
	return list_rows(store, statement, read_row, free_row, doing, error);
}
