/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of a run: events, decisions, power samples. */
#include "controller/store/store_cursor.h"

bool store_add_event(struct store *store, int64_t run, double time_s, const char *kind,
		     const char *detail, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_EVENT, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_real(&cursor, time_s);
	put_text(&cursor, kind);
	put_text(&cursor, detail);
	if (!store_run_statement(store, statement, "store an event", error))
		return false;
	if (store->event_added)
		store->event_added(store->event_data);
	return true;
}

static gpointer read_event(struct cursor *cursor)
{
	struct store_event *event = g_new0(struct store_event, 1);

	event->id = get_integer(cursor);
	event->run = get_integer(cursor);
	event->time_s = get_real(cursor);
	event->kind = get_text(cursor);
	event->detail = get_text(cursor);
	return event;
}

GPtrArray *store_events(struct store *store, int64_t run, GError **error)
{
	return list_of_run(store, STORE_LIST_EVENTS, run, read_event,
			   (GDestroyNotify)store_event_free, "read the events", error);
}

GPtrArray *store_events_after(struct store *store, int64_t run, int64_t after, uint32_t most,
			      GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_EVENTS_AFTER, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return NULL;
	put_integer(&cursor, run);
	put_integer(&cursor, after);
	put_integer(&cursor, most);
	return list_rows(store, statement, read_event, (GDestroyNotify)store_event_free,
			 "read the events", error);
}

int64_t store_last_event(struct store *store)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LAST_EVENT, NULL);
	int64_t last = 0;

	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		last = sqlite3_column_int64(statement, 0);
	if (statement)
		sqlite3_reset(statement);
	return last;
}

void store_watch_events(struct store *store, void (*added)(void *data), void *data)
{
	store->event_added = added;
	store->event_data = data;
}

void store_event_free(struct store_event *event)
{
	if (!event)
		return;
	g_free(event->kind);
	g_free(event->detail);
	g_free(event);
}

bool store_add_decision(struct store *store, int64_t run, double time_s, const char *snapshot,
			const char *actions, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_DECISION, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_real(&cursor, time_s);
	put_text(&cursor, snapshot);
	put_text(&cursor, actions);
	return store_run_statement(store, statement, "store a decision", error);
}

bool store_each_decision(struct store *store, int64_t run,
			 bool (*row)(double time_s, const char *snapshot, const char *actions,
				     void *data),
			 void *data, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_DECISIONS, error);
	bool more = true;
	int code = SQLITE_DONE;

	if (!statement)
		return false;
	sqlite3_bind_int64(statement, 1, run);
	while (more && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct cursor cursor = reading(statement);
		double time_s = get_real(&cursor);
		const char *snapshot = peek_text(&cursor);

		more = row(time_s, snapshot, peek_text(&cursor), data);
	}
	if (more && code != SQLITE_DONE)
		store_fail(store, code, "read the decisions", error);
	sqlite3_reset(statement);
	return !more || code == SQLITE_DONE;
}

bool store_each_event(struct store *store, int64_t run, const char *kind,
		      void (*event)(const char *detail, void *data), void *data, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_LIST_EVENTS_OF_KIND, error);
	struct cursor cursor = writing(statement);
	int code;

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_text(&cursor, kind);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		g_autofree char *detail = copy_text((const char *)sqlite3_column_text(statement, 0));

		event(detail, data);
	}
	if (code != SQLITE_DONE)
		store_fail(store, code, "read the events", error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE;
}

bool store_add_sample(struct store *store, int64_t run, const char *host, int64_t seq,
		      double time_s, int64_t mw, int64_t energy_uj, bool gap, GError **error)
{
	sqlite3_stmt *statement = store_statement(store, STORE_ADD_SAMPLE, error);
	struct cursor cursor = writing(statement);

	if (!statement)
		return false;
	put_integer(&cursor, run);
	put_text(&cursor, host);
	put_integer(&cursor, seq);
	put_real(&cursor, time_s);
	put_integer(&cursor, mw);
	put_integer(&cursor, energy_uj);
	put_integer(&cursor, gap);
	return store_run_statement(store, statement, "store a power sample", error);
}

static gpointer read_sample(struct cursor *cursor)
{
	struct store_sample *sample = g_new0(struct store_sample, 1);

	sample->host = get_text(cursor);
	sample->seq = get_integer(cursor);
	sample->time_s = get_real(cursor);
	sample->mw = get_integer(cursor);
	sample->energy_uj = get_integer(cursor);
	sample->gap = get_integer(cursor) != 0;
	return sample;
}

GPtrArray *store_samples(struct store *store, int64_t run, GError **error)
{
	return list_of_run(store, STORE_LIST_SAMPLES, run, read_sample,
			   (GDestroyNotify)store_sample_free, "read the power samples", error);
}

void store_sample_free(struct store_sample *sample)
{
	if (!sample)
		return;
	g_free(sample->host);
	g_free(sample);
}
