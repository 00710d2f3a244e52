/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * What the files of the task store share: task_store.c (the file, VMs, outputs), task_store_load.c
 * (stored tasks), task_store_record.c (writing) and retention.c (removal). With short helpers for
 * SQLite.
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

/* Sets `error` from SQLite's last error, with what to do about it. Returns false. */
bool task_store_fail(struct task_store *store, enum task_store_error code, GError **error);

/* Frees a record of `pending`. */
void task_store_record_free(gpointer record);

/* The path of a file of task `id`. The caller frees it. */
char *task_store_file_path(const struct task_store *store, const char *id, const char *ending);

/* Executes statements without rows and parameters; false: they failed. */
static inline bool execute(struct task_store *store, const char *sql)
{
	return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* Prepares a statement. NULL if that fails; the functions below accept NULL. */
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

/* Executes a statement without rows, and frees it. */
static inline bool run(sqlite3_stmt *statement)
{
	bool good = statement && sqlite3_step(statement) == SQLITE_DONE;

	sqlite3_finalize(statement);
	return good;
}
