/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing tasks and events to disk, and the stream of events. */
#include "common/clock.h"
#include "common/json.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

/* Something to be written: the state of a task, an event, or both. */
struct record {
	char *task_id; /* NULL: no task to update */
	char *task_state;
	char *task_record;
	uint64_t seq; /* 0: no event */
	int64_t t_ns;
	char *kind;
	char *task;
	int64_t node; /* -1: none */
	char *host;
	char *detail;
};

void task_store_record_free(gpointer data)
{
	struct record *record = data;

	g_free(record->task_id);
	g_free(record->task_state);
	g_free(record->task_record);
	g_free(record->kind);
	g_free(record->task);
	g_free(record->host);
	g_free(record->detail);
	g_free(record);
}

static char *record_text(const struct task *task)
{
	g_autoptr(json_t) object = task_to_json(task);

	return json_text(object);
}

bool task_store_add(struct task_store *store, const struct task *task, GError **error)
{
	sqlite3_stmt *insert = prepare(
		store, "INSERT INTO tasks (id, state, request, record) VALUES (?, ?, ?, ?)");
	g_autofree char *request = task_request_text(task);
	g_autofree char *record = record_text(task);

	bind_text(insert, 1, task->id);
	bind_text(insert, 2, task_state_name(task->state));
	bind_text(insert, 3, request);
	bind_text(insert, 4, record);
	if (run(insert))
		return true;
	return task_store_fail(store, TASK_STORE_ERROR_WRITE, error);
}

static bool write_task(struct task_store *store, const struct record *record)
{
	sqlite3_stmt *update;

	if (!record->task_id)
		return true;
	update = prepare(store, "UPDATE tasks SET state = ?, record = ? WHERE id = ?");
	bind_text(update, 1, record->task_state);
	bind_text(update, 2, record->task_record);
	bind_text(update, 3, record->task_id);
	return run(update);
}

static bool write_event(struct task_store *store, const struct record *record)
{
	sqlite3_stmt *insert;

	if (!record->seq)
		return true;
	insert = prepare(store, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)");
	if (!insert)
		return false;
	sqlite3_bind_int64(insert, 1, (sqlite3_int64)record->seq);
	sqlite3_bind_int64(insert, 2, record->t_ns);
	bind_text(insert, 3, record->kind);
	bind_text(insert, 4, record->task);
	if (record->node >= 0)
		sqlite3_bind_int64(insert, 5, record->node);
	bind_text(insert, 6, record->host);
	bind_text(insert, 7, record->detail);
	return run(insert);
}

static bool write_record(struct task_store *store, const struct record *record)
{
	if (execute(store, "BEGIN") && write_task(store, record) && write_event(store, record) &&
	    execute(store, "COMMIT"))
		return true;
	if (!store->complained)
		log_error("state '%s/local.sqlite' cannot be written: %s; kept in memory and tried "
			  "again",
			  store->directory, sqlite3_errmsg(store->database));
	store->complained = true;
	execute(store, "ROLLBACK");
	return false;
}

bool task_store_flush(struct task_store *store)
{
	while (!g_queue_is_empty(&store->pending)) {
		if (!write_record(store, g_queue_peek_head(&store->pending)))
			return false;
		task_store_record_free(g_queue_pop_head(&store->pending));
	}
	if (store->complained)
		log_info("state '%s/local.sqlite' is written again", store->directory);
	store->complained = false;
	return true;
}

/* Takes over the record. */
static uint64_t put_record(struct task_store *store, struct record *record)
{
	uint64_t seq = record->seq;

	g_queue_push_tail(&store->pending, record);
	task_store_flush(store);
	return seq;
}

static struct record *record_new(void)
{
	struct record *record = g_new0(struct record, 1);

	record->node = -1;
	return record;
}

uint64_t task_store_update(struct task_store *store, const struct task *task, const char *kind)
{
	struct record *record = record_new();

	record->task_id = g_strdup(task->id);
	record->task_state = g_strdup(task_state_name(task->state));
	record->task_record = record_text(task);
	if (kind) {
		record->seq = ++store->last_event;
		record->t_ns = clock_now_ns();
		record->kind = g_strdup(kind);
		record->task = g_strdup(task->id);
		record->detail = g_strdup(record->task_record);
	}
	return put_record(store, record);
}

uint64_t task_store_event(struct task_store *store, const char *kind, int64_t t_ns,
			  const char *task, int64_t node, const char *host, json_t *detail)
{
	struct record *record = record_new();

	record->seq = ++store->last_event;
	record->t_ns = t_ns;
	record->kind = g_strdup(kind);
	record->task = g_strdup(task);
	record->node = node;
	record->host = g_strdup(host);
	record->detail = detail ? json_text(detail) : g_strdup("{}");
	return put_record(store, record);
}

uint64_t task_store_last_event(const struct task_store *store)
{
	return store->last_event;
}

static json_t *event_json(uint64_t seq, int64_t t_ns, const char *kind, const char *task,
			  int64_t node, const char *host, const char *detail)
{
	json_t *event = json_object();

	json_object_set_new(event, "seq", json_integer((json_int_t)seq));
	json_object_set_new(event, "t_ns", json_integer(t_ns));
	json_object_set_new(event, "kind", json_string(kind));
	json_object_set_new(event, "task", json_string_or_null(task));
	json_object_set_new(event, "node", node >= 0 ? json_integer(node) : json_null());
	json_object_set_new(event, "host", json_string_or_null(host));
	json_object_set_new(event, "detail", json_loads(detail, 0, NULL));
	return event;
}

/* Adds events that are not on disk yet to the stream. */
static void add_pending(const struct task_store *store, uint64_t after, uint32_t limit,
			json_t *events)
{
	for (const GList *link = store->pending.head; link; link = link->next) {
		const struct record *record = link->data;

		if (record->seq > after && json_array_size(events) < limit)
			json_array_append_new(events,
					      event_json(record->seq, record->t_ns, record->kind,
							 record->task, record->node, record->host,
							 record->detail));
	}
}

json_t *task_store_events(struct task_store *store, uint64_t after, uint32_t limit)
{
	json_t *events = json_array();
	sqlite3_stmt *rows = prepare(store, "SELECT seq, t_ns, kind, task, node, host, detail "
					    "FROM events WHERE seq > ? ORDER BY seq LIMIT ?");

	if (rows) {
		sqlite3_bind_int64(rows, 1, (sqlite3_int64)after);
		sqlite3_bind_int64(rows, 2, limit);
	}
	while (rows && sqlite3_step(rows) == SQLITE_ROW)
		json_array_append_new(
			events,
			event_json((uint64_t)sqlite3_column_int64(rows, 0),
				   sqlite3_column_int64(rows, 1), column_text(rows, 2),
				   column_text(rows, 3),
				   sqlite3_column_type(rows, 4) == SQLITE_NULL ?
					   -1 :
					   sqlite3_column_int64(rows, 4),
				   column_text(rows, 5), column_text(rows, 6)));
	sqlite3_finalize(rows);
	add_pending(store, after, limit, events);
	return events;
}
