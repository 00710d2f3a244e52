/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The insides of task_store.h, for task_store.c (the file, VMs, outputs), task_store_load.c (tasks as they
 * were stored), task_store_record.c (what is to be stored) and retention.c (how long), and a few words of
 * SQLite that they use.
 */
#include <sqlite3.h>

#include "local-sched/store/task_store.h"

struct task_store {
	sqlite3 *database;
	char *directory;
	char *incarnation;
	int lock_fd;
	uint64_t last_event;
	GQueue pending; /* of struct record: not written yet, oldest first */
	bool complained;
};

/* The text of the first column of the first row, or NULL. The caller frees it. */
char *task_store_query_text(struct task_store *store, const char *sql);

/* Sets `error` to what SQLite complained of last, with what to do about it. Returns false. */
bool task_store_fail(struct task_store *store, enum task_store_error code, GError **error);

/* Frees one of `pending`. */
void task_store_record_free(gpointer record);

/* Where a file of task `id` is. The caller frees it. */
char *task_store_file_path(const struct task_store *store, const char *id, const char *ending);

/* Statements without rows and parameters; false: not done. */
static inline bool execute(struct task_store *store, const char *sql)
{
	return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* NULL: it cannot be prepared. What follows takes that. */
static inline sqlite3_stmt *prepare(struct task_store *store, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
	return statement;
}

static inline void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	if (text)
		sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_null(statement, index);
}

static inline const char *column_text(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
}

/* Runs a statement that gives no rows, and frees it. */
static inline bool run(sqlite3_stmt *statement)
{
	bool good = statement && sqlite3_step(statement) == SQLITE_DONE;

	sqlite3_finalize(statement);
	return good;
}
