/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_profile.h"

#include "controller/store/store_cursor.h"

/* The first version with these tables. */
#define VERSION_PROFILE 10

bool store_set_durable(struct store *store, bool durable, GError **error)
{
	return store_exec(store,
			  durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
			  "set up the journal", error);
}

/* All rows, or none for a file that is too old for the table. */
static GPtrArray *list(struct store *store, enum store_statement which, read_row_f read_row,
		       GDestroyNotify free_row, GError **error)
{
	sqlite3_stmt *statement;

	if (store->version < VERSION_PROFILE)
		return g_ptr_array_new_with_free_func(free_row);
	statement = store_statement(store, which, error);
	return statement ? list_rows(store, statement, read_row, free_row,
				     "read what a profile measured", error)
			 : NULL;
}

bool store_add_measurement(struct store *store, const struct store_measurement *measurement,
			   GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_MEASUREMENT, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_text(&cursor, measurement->type);
	put_text(&cursor, measurement->cluster);
	if (measurement->round == STORE_NO_ROUND)
		cursor.next++; /* NULL, which SQL's UNIQUE does not compare */
	else
		put_integer(&cursor, measurement->round);
	put_text(&cursor, measurement->work);
	put_real(&cursor, measurement->exec_s);
	put_real(&cursor, measurement->energy_j);
	return store_run_statement(store, statement, "store a measurement", error);
}

static gpointer read_measurement(struct cursor *cursor)
{
	struct store_measurement *measurement = g_new0(struct store_measurement, 1);
	double round;

	measurement->n = get_integer(cursor);
	measurement->type = get_text(cursor);
	measurement->cluster = get_text(cursor);
	round = get_real(cursor);
	measurement->round = isnan(round) ? STORE_NO_ROUND : (int64_t)round;
	measurement->work = get_text(cursor);
	measurement->exec_s = get_real(cursor);
	measurement->energy_j = get_real(cursor);
	return measurement;
}

static void free_measurement(gpointer data)
{
	struct store_measurement *measurement = data;

	g_free(measurement->type);
	g_free(measurement->cluster);
	g_free(measurement->work);
	g_free(measurement);
}

GPtrArray *store_measurements(struct store *store, GError **error)
{
	return list(store, STORE_LIST_MEASUREMENTS, read_measurement, free_measurement, error);
}

bool store_drop_measurement(struct store *store, int64_t n, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_DROP_MEASUREMENT, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, n);
	return store_run_statement(store, statement, "forget a measurement", error);
}

bool store_put_unmeasured(struct store *store, const struct store_unmeasured *unmeasured,
			  GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_PUT_UNMEASURED, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_text(&cursor, unmeasured->type);
	put_text(&cursor, unmeasured->cluster);
	put_text(&cursor, unmeasured->reason);
	put_real(&cursor, unmeasured->task_deadline_s);
	return store_run_statement(store, statement, "store what cannot be measured", error);
}

static gpointer read_unmeasured(struct cursor *cursor)
{
	struct store_unmeasured *unmeasured = g_new0(struct store_unmeasured, 1);

	unmeasured->type = get_text(cursor);
	unmeasured->cluster = get_text(cursor);
	unmeasured->reason = get_text(cursor);
	unmeasured->task_deadline_s = get_real(cursor);
	return unmeasured;
}

static void free_unmeasured(gpointer data)
{
	struct store_unmeasured *unmeasured = data;

	g_free(unmeasured->type);
	g_free(unmeasured->cluster);
	g_free(unmeasured->reason);
	g_free(unmeasured);
}

GPtrArray *store_unmeasured(struct store *store, GError **error)
{
	return list(store, STORE_LIST_UNMEASURED, read_unmeasured, free_unmeasured, error);
}

bool store_drop_unmeasured(struct store *store, const char *type, const char *cluster,
			   GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_DROP_UNMEASURED, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_text(&cursor, type);
	put_text(&cursor, cluster);
	return store_run_statement(store, statement, "forget what could not be measured", error);
}

bool store_add_overhead(struct store *store, const struct store_overhead *overhead, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_OVERHEAD, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_text(&cursor, overhead->cluster);
	put_text(&cursor, overhead->keep);
	put_text(&cursor, overhead->detail);
	return store_run_statement(store, statement, "store what suspending took", error);
}

static gpointer read_overhead(struct cursor *cursor)
{
	struct store_overhead *overhead = g_new0(struct store_overhead, 1);

	overhead->cluster = get_text(cursor);
	overhead->keep = get_text(cursor);
	overhead->detail = get_text(cursor);
	return overhead;
}

static void free_overhead(gpointer data)
{
	struct store_overhead *overhead = data;

	g_free(overhead->cluster);
	g_free(overhead->keep);
	g_free(overhead->detail);
	g_free(overhead);
}

GPtrArray *store_overheads(struct store *store, GError **error)
{
	return list(store, STORE_LIST_OVERHEADS, read_overhead, free_overhead, error);
}
