/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/store/store_private.h"

/* Calls `row` for each decision of a run in order, until it returns false. */
static inline bool each_decision(struct store *store, int64_t run,
				 bool (*row)(double time_s, const char *snapshot,
					     const char *actions, void *data),
				 void *data, GError **error)
{
	sqlite3_stmt *statement = database_query(
		store->database,
		"SELECT time_s, snapshot, actions FROM decision WHERE run = ? ORDER BY id",
		DATABASE_ARGS(run), error);
	bool more = true;
	int code = SQLITE_DONE;

	if (!statement)
		return false;
	while (more && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct database_cursor cursor = database_reading(statement);
		const double time_s = database_get_real(&cursor);
		const char *snapshot = database_peek_text(&cursor);

		more = row(time_s, snapshot, database_peek_text(&cursor), data);
	}
	if (more && code != SQLITE_DONE)
		database_fail(store->database, code, "read the decisions", error);
	sqlite3_reset(statement);
	return !more || code == SQLITE_DONE;
}
