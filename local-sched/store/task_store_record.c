/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing tasks and events to disk, and the stream of events. */
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

static void event_free(void *event);

static const struct record_field event_fields[] = {
	{RECORD_FIELD_I64(task_store_row, seq)},
	{RECORD_FIELD_I64(task_store_row, t_ns)},
	{RECORD_FIELD_TEXT(task_store_row, kind)},
	{RECORD_FIELD_TEXT(task_store_row, task), .null = RECORD_NULL_POINTER},
	{RECORD_AT(task_store_row, node), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE},
	{RECORD_FIELD_TEXT(task_store_row, host), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_TEXT(task_store_row, detail)},
	{NULL},
};
static const struct record event_record = {.name = "event",
					   .size = sizeof(struct task_store_row),
					   .fields = event_fields,
					   .free = event_free,
					   .table = "events"};

static void event_free(void *event)
{
	record_free(&event_record, event);
}

void task_store_write_free(gpointer data)
{
	struct task_store_write *write = data;

	g_free(write->task_id);
	g_free(write->task_state);
	g_free(write->task_record);
	record_clear(&event_record, &write->event);
	g_free(write);
}

static char *record_text(const struct task_store *store, const struct task *task)
{
	g_autoptr(json_t) object = task_to_json(task, platform_now_ns(store->platform));

	return json_text(object);
}

bool task_store_add(struct task_store *store, const struct task *task, GError **error)
{
	g_autofree char *request = task_request_text(task);
	g_autofree char *record = record_text(store, task);

	return database_do(store->database,
			   "INSERT INTO tasks (id, state, request, record) VALUES (?, ?, ?, ?)",
			   DATABASE_ARGS(task->id, task_state_names[task->state], request, record),
			   "store a task", error);
}

static bool write_one(struct task_store *store, const struct task_store_write *write)
{
	g_autoptr(GError) error = NULL;

	if (database_begin(store->database, &error) &&
	    (!write->task_id ||
	     database_do(store->database, "UPDATE tasks SET state = ?, record = ? WHERE id = ?",
			 DATABASE_ARGS(write->task_state, write->task_record, write->task_id),
			 "store a task", &error)) &&
	    (!write->event.seq || database_put(store->database, &event_record, &write->event,
					       "store an event", &error)) &&
	    database_commit(store->database, &error))
		return true;
	if (!store->complained)
		log_error("%s; kept in memory and tried again", error->message);
	store->complained = true;
	database_rollback(store->database);
	return false;
}

bool task_store_flush(struct task_store *store)
{
	while (!g_queue_is_empty(&store->pending)) {
		if (!write_one(store, g_queue_peek_head(&store->pending)))
			return false;
		task_store_write_free(g_queue_pop_head(&store->pending));
	}
	if (store->complained)
		log_info("state '%s/local.sqlite' is written again", store->directory);
	store->complained = false;
	return true;
}

/* Takes over the write. */
static uint64_t put_write(struct task_store *store, struct task_store_write *write)
{
	const uint64_t seq = (uint64_t)write->event.seq;

	g_queue_push_tail(&store->pending, write);
	task_store_flush(store);
	return seq;
}

static struct task_store_write *write_new(void)
{
	struct task_store_write *write = g_new0(struct task_store_write, 1);

	record_init(&event_record, &write->event);
	return write;
}

uint64_t task_store_update(struct task_store *store, const struct task *task, const char *kind)
{
	struct task_store_write *write = write_new();

	write->task_id = g_strdup(task->id);
	write->task_state = g_strdup(task_state_names[task->state]);
	write->task_record = record_text(store, task);
	if (kind) {
		write->event.seq = (int64_t)++store->last_event;
		write->event.t_ns = platform_now_ns(store->platform);
		write->event.kind = g_strdup(kind);
		write->event.task = g_strdup(task->id);
		write->event.detail = g_strdup(write->task_record);
	}
	return put_write(store, write);
}

uint64_t task_store_event(struct task_store *store, const char *kind, int64_t t_ns,
			  const char *task, int64_t node, const char *host, json_t *detail)
{
	struct task_store_write *write = write_new();

	write->event = (struct task_store_row){
		.seq = (int64_t)++store->last_event,
		.t_ns = t_ns,
		.kind = g_strdup(kind),
		.task = g_strdup(task),
		.node = node,
		.host = g_strdup(host),
		.detail = detail ? json_text(detail) : g_strdup("{}"),
	};
	return put_write(store, write);
}

uint64_t task_store_last_event(const struct task_store *store)
{
	return store->last_event;
}

static json_t *event_json(const struct task_store_row *row)
{
	json_t *event = record_to_json(&event_record, row);

	json_object_set_new(event, "detail", json_loads(row->detail, 0, NULL));
	return event;
}

json_t *task_store_events(struct task_store *store, uint64_t after, uint32_t limit)
{
	const int64_t last = (int64_t)MIN(after, (uint64_t)INT64_MAX);
	g_autoptr(GPtrArray) rows =
		database_list(store->database, &event_record, "WHERE seq > ? ORDER BY seq LIMIT ?",
			      DATABASE_ARGS(last, limit), "read the events", NULL);
	json_t *events = json_array();

	for (guint i = 0; rows && i < rows->len; i++)
		json_array_append_new(events, event_json(rows->pdata[i]));
	/* Events that are not on disk yet. */
	for (const GList *link = store->pending.head; link; link = link->next) {
		const struct task_store_write *write = link->data;

		if (write->event.seq > last && json_array_size(events) < limit)
			json_array_append_new(events, event_json(&write->event));
	}
	return events;
}
