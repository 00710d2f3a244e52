/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lost attempts of tasks. */
#include "controller/store/store_cursor.h"

/* The first version with this table. */
#define VERSION_LOST 10

#define DOING "read the lost attempts"

bool store_put_lost(struct store *store, const struct store_lost *lost, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_LOST, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, lost->run);
	put_integer(&cursor, lost->task);
	put_integer(&cursor, lost->attempt);
	put_text(&cursor, lost->cluster);
	put_text(&cursor, lost->nodes);
	put_real(&cursor, lost->started_s);
	put_real(&cursor, lost->ended_s);
	put_text(&cursor, lost->reason);
	return store_run_statement(store, statement, "store a lost attempt", error);
}

static gpointer read_lost(struct cursor *cursor)
{
	struct store_lost *lost = g_new0(struct store_lost, 1);

	lost->run = get_integer(cursor);
	lost->task = get_count(cursor);
	lost->attempt = get_count(cursor);
	lost->cluster = get_text(cursor);
	lost->nodes = get_text(cursor);
	lost->started_s = get_real(cursor);
	lost->ended_s = get_real(cursor);
	lost->reason = get_text(cursor);
	return lost;
}

GPtrArray *store_lost(struct store *store, int64_t run, GError **error)
{
	return list_of_run_since(store, VERSION_LOST, STORE_LIST_LOST, run, read_lost,
				 (GDestroyNotify)store_lost_free, DOING, error);
}

GPtrArray *store_task_lost(struct store *store, int64_t run, uint32_t task, GError **error)
{
	sqlite3_stmt *statement;

	if (store->version < VERSION_LOST)
		return g_ptr_array_new_with_free_func((GDestroyNotify)store_lost_free);
	statement = store_statement(store, STORE_LIST_TASK_LOST, error);
	if (!statement)
		return NULL;
	sqlite3_bind_int64(statement, 1, run);
	sqlite3_bind_int64(statement, 2, task);
	return list_rows(store, statement, read_lost, (GDestroyNotify)store_lost_free, DOING, error);
}

void store_lost_free(struct store_lost *lost)
{
	if (!lost)
		return;
	g_free(lost->cluster);
	g_free(lost->nodes);
	g_free(lost->reason);
	g_free(lost);
}
