/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of a run: events, decisions, power samples. */
#include "controller/store/store_private.h"

bool store_add_event(struct store *store, int64_t run, double time_s, const char *kind,
		     const char *detail, GError **error)
{
	const struct store_event event = {.run = run,
					  .time_s = time_s,
					  .kind = (char *)kind,
					  .detail = (char *)detail};

	if (!database_add(store->database, &store_event_record, &event, NULL, "store an event",
			  error))
		return false;
	if (store->event_added)
		store->event_added(store->event_data);
	return true;
}

STORE_DEFINE_LIST(store_events, store_event, "WHERE run = ? ORDER BY id", "read the events")

GPtrArray *store_events_after(struct store *store, int64_t run, int64_t after, uint32_t most,
			      GError **error)
{
	return database_list(store->database, &store_event_record,
			     "WHERE (?1 = 0 OR run = ?1) AND id > ?2 ORDER BY id LIMIT ?3",
			     DATABASE_ARGS(run, after, most), "read the events", error);
}

int64_t store_last_event(struct store *store)
{
	int64_t last = 0;

	database_find_integer(store->database, "SELECT max(id) FROM event", DATABASE_NO_ARGS, &last,
			      "read the events", NULL);
	return last;
}

void store_watch_events(struct store *store, void (*added)(void *data), void *data)
{
	store->event_added = added;
	store->event_data = data;
}

bool store_each_event(struct store *store, int64_t run, const char *kind,
		      void (*event)(const char *detail, void *data), void *data, GError **error)
{
	sqlite3_stmt *statement =
		database_query(store->database,
			       "SELECT detail FROM event WHERE run = ? AND kind = ? ORDER BY id",
			       DATABASE_ARGS(run, kind), error);
	int code;

	if (!statement)
		return false;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct database_cursor cursor = database_reading(statement);
		g_autofree char *detail = database_get_text(&cursor);

		event(detail, data);
	}
	if (code != SQLITE_DONE)
		database_fail(store->database, code, "read the events", error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE;
}

bool store_add_decision(struct store *store, int64_t run, double time_s, const char *snapshot,
			const char *actions, GError **error)
{
	const struct store_decision decision = {.run = run,
						.time_s = time_s,
						.snapshot = (char *)snapshot,
						.actions = (char *)actions};

	return database_add(store->database, &store_decision_record, &decision, NULL,
			    "store a decision", error);
}

struct store_decision *store_decision_after(struct store *store, int64_t run, int64_t after,
					    GError **error)
{
	g_autoptr(GPtrArray) rows =
		database_list(store->database, &store_decision_record,
			      "WHERE run = ? AND id > ? ORDER BY id LIMIT 1",
			      DATABASE_ARGS(run, after), "read a decision", error);

	return rows && rows->len > 0 ? g_ptr_array_steal_index(rows, 0) : NULL;
}

STORE_DEFINE_PUT(store_put_input, store_input, "store an input")

GPtrArray *store_inputs_after(struct store *store, int64_t run, uint32_t after, uint32_t most,
			      GError **error)
{
	return database_list(store->database, &store_input_record,
			     "WHERE run = ? AND n > ? ORDER BY n LIMIT ?",
			     DATABASE_ARGS(run, after, most), "read the inputs", error);
}

char *store_next_begin(struct store *store, int64_t run, uint32_t from)
{
	return database_find_text(store->database,
				  "SELECT detail FROM input WHERE run = ? AND n >= ?"
				  " AND kind = 'begin' ORDER BY n LIMIT 1",
				  DATABASE_ARGS(run, from), "read the inputs", NULL);
}

uint32_t store_count_restores(struct store *store, int64_t run)
{
	int64_t count = 0;

	database_find_integer(store->database,
			      "SELECT count(*) FROM input WHERE run = ? AND kind = 'restore'",
			      DATABASE_ARGS(run), &count, "read the inputs", NULL);
	return (uint32_t)count;
}

bool store_last_input(struct store *store, int64_t run, uint32_t *ret_last, GError **error)
{
	int64_t last = 0;
	const bool good =
		store_version(store) < 11 ||
		database_find_integer(store->database, "SELECT max(n) FROM input WHERE run = ?",
				      DATABASE_ARGS(run), &last, "read the inputs", error);

	*ret_last = (uint32_t)last;
	return good;
}

STORE_DEFINE_PUT(store_put_state, store_state, "store a full state")

struct store_state *store_next_state(struct store *store, int64_t run, uint32_t from,
				     GError **error)
{
	if (store_version(store) < 12)
		return NULL;
	return database_get(store->database, &store_state_record,
			    "WHERE run = ? AND n >= ? ORDER BY n LIMIT 1", DATABASE_ARGS(run, from),
			    "read a full state", error);
}

int64_t store_last_decision(struct store *store, int64_t run)
{
	int64_t last = 0;

	database_find_integer(store->database,
			      "SELECT coalesce(max(id), 0) FROM decision WHERE run = ?",
			      DATABASE_ARGS(run), &last, "read the decisions", NULL);
	return last;
}

bool store_add_sample(struct store *store, int64_t run, const char *host, int64_t seq,
		      double time_s, int64_t mw, int64_t energy_uj, bool gap, GError **error)
{
	static const char sql[] =
		"INSERT INTO sample SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS"
		" (SELECT 1 FROM sample WHERE run = ?1 AND host = ?2 AND seq = ?3"
		" AND time_s BETWEEN ?4 - 0.05 AND ?4 + 0.05)";
	const struct store_sample sample = {.run = run,
					    .host = (char *)host,
					    .seq = seq,
					    .time_s = time_s,
					    .mw = mw,
					    .energy_uj = energy_uj,
					    .gap = gap};

	return database_put_by(store->database, sql, &store_sample_record, &sample,
			       "store a power sample", error);
}

STORE_DEFINE_LIST(store_samples, store_sample, "WHERE run = ? ORDER BY host, time_s, seq",
		  "read the power samples")
