/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/store/task_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

#define BUSY_MS 5000

/* The controller has everything that the store holds, or can do without it. */
#define DAMAGE_CURE                                                                                \
	"; move the state directory away and start again: tasks that ran are lost, and started again"

/* Replaces a request that cannot be read. */
#define NO_REQUEST                                                                                 \
	"{\"type\": \"unknown\", \"benchmark\": \"is\", \"class\": \"S\", \"ranks\": 1, "          \
	"\"repetitions\": 1, \"nodes\": [0], \"deadline_s\": 1}"

/* The version of the schema that this program writes. */
#define SCHEMA_VERSION 2

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS tasks (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" state TEXT NOT NULL, request TEXT NOT NULL, record TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL,"
	" kind TEXT NOT NULL, task TEXT, node INTEGER, host TEXT, detail TEXT NOT NULL);";

/*
 * Columns that were added one by one while the version stayed 1: a file of that version has some of
 * them.
 */
static const char schema_since[] =
	"CREATE TABLE IF NOT EXISTS vms (number INTEGER PRIMARY KEY, host TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS damaged (id TEXT NOT NULL, request TEXT, record TEXT);"
	"CREATE TABLE IF NOT EXISTS vms_to (number INTEGER PRIMARY KEY, host TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS taken (seq INTEGER PRIMARY KEY, attended_s REAL NOT NULL);"
	"CREATE TABLE IF NOT EXISTS past (stem TEXT PRIMARY KEY, attempt INTEGER NOT NULL) WITHOUT ROWID;";

/*
 * Each step updates a file of the version before (0 for a new one). Version 1 was written last,
 * after its tables, so a file of version 0 may have them too.
 */
static const struct database_step steps[] = {
	[1] = {.sql = schema},
	[2] = {.sql = schema_since},
};
G_STATIC_ASSERT(G_N_ELEMENTS(steps) == SCHEMA_VERSION + 1);

static const struct record *const no_records[] = {NULL};

static const struct database_kind database_kind = {
	.noun = "state",
	.what = "that of a local scheduler" DAMAGE_CURE,
	.reader = "this local scheduler",
	.newer = "; use the newer one, or another state directory",
	.cure = DAMAGE_CURE,
	.version = SCHEMA_VERSION,
	.steps = steps,
	.records = no_records,
};

/* Tasks and events: written to disk, and the stream of events. */

/* A row of the table `events`. */
struct event_row {
	int64_t seq;
	int64_t t_ns;
	char *kind;
	char *task;
	int64_t node; /* -1: none */
	char *host;
	char *detail; /* JSON */
};

/* Something to be written: the state of a task, an event, or both. */
struct pending_write {
	char *task_id; /* NULL: no task to update */
	char *task_state;
	char *task_record;
	struct event_row event; /* seq 0: none */
};

static void event_free(void *event);

static const struct record_field event_fields[] = {
	{RECORD_FIELD_I64(event_row, seq)},
	{RECORD_FIELD_I64(event_row, t_ns)},
	{RECORD_FIELD_TEXT(event_row, kind)},
	{RECORD_FIELD_TEXT(event_row, task), .null = RECORD_NULL_POINTER},
	{RECORD_AT(event_row, node), .type = RECORD_I64, .null = RECORD_NULL_MINUS_ONE},
	{RECORD_FIELD_TEXT(event_row, host), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_TEXT(event_row, detail)},
	{NULL},
};
static const struct record event_record = {.name = "event",
					   .size = sizeof(struct event_row),
					   .fields = event_fields,
					   .free = event_free,
					   .table = "events"};

static void event_free(void *event)
{
	record_free(&event_record, event);
}

static void write_free(gpointer data)
{
	struct pending_write *write = data;

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

static bool write_one(struct task_store *store, const struct pending_write *write)
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
		write_free(g_queue_pop_head(&store->pending));
	}
	if (store->complained)
		log_info("state '%s/local.sqlite' is written again", store->directory);
	store->complained = false;
	return true;
}

/* Takes over the write. */
static uint64_t put_write(struct task_store *store, struct pending_write *write)
{
	const uint64_t seq = (uint64_t)write->event.seq;

	g_queue_push_tail(&store->pending, write);
	task_store_flush(store);
	return seq;
}

static struct pending_write *write_new(void)
{
	struct pending_write *write = g_new0(struct pending_write, 1);

	record_init(&event_record, &write->event);
	return write;
}

uint64_t task_store_update(struct task_store *store, const struct task *task, const char *kind)
{
	struct pending_write *write = write_new();

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
	struct pending_write *write = write_new();

	write->event = (struct event_row){
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

static json_t *event_json(const struct event_row *row)
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
		const struct pending_write *write = link->data;

		if (write->event.seq > last && json_array_size(events) < limit)
			json_array_append_new(events, event_json(&write->event));
	}
	return events;
}

/* Opening. */

static bool lock(struct task_store *store, GError **error)
{
	g_autofree char *path = g_build_filename(store->directory, "lock", NULL);

	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock_fd >= 0 && flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	g_set_error(error, DATABASE_ERROR, DATABASE_ERROR_OPEN, "state directory '%s': %s",
		    store->directory,
		    errno == EWOULDBLOCK ? "another local scheduler uses it" : g_strerror(errno));
	return false;
}

static bool make_directories(struct task_store *store, GError **error)
{
	g_autofree char *tasks = g_build_filename(store->directory, "tasks", NULL);

	if (g_mkdir_with_parents(store->directory, 0700) == 0 &&
	    g_mkdir_with_parents(tasks, 0700) == 0)
		return true;
	return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN,
			  "cannot make state directory '%s': %s", store->directory,
			  g_strerror(errno));
}

static bool read_meta(struct task_store *store, GError **error)
{
	int64_t last = 0;

	store->incarnation = database_find_text(store->database,
						"SELECT value FROM meta WHERE key = 'incarnation'",
						DATABASE_NO_ARGS, "read its identity", NULL);
	if (!store->incarnation) {
		store->incarnation = platform_uuid(store->platform);
		if (!database_do(store->database, "INSERT INTO meta VALUES ('incarnation', ?)",
				 DATABASE_ARGS(store->incarnation), "store its identity", error))
			return false;
	}
	if (!database_find_integer(store->database, "SELECT coalesce(max(seq), 0) FROM events",
				   DATABASE_NO_ARGS, &last, "read the events", error))
		return false;
	store->last_event = (uint64_t)MAX(last, 0);
	return true;
}

struct task_store *task_store_open(const struct platform *platform, const char *directory,
				   GError **error)
{
	g_autoptr(task_store_t) store = g_new0(struct task_store, 1);
	g_autofree char *path = g_build_filename(directory, "local.sqlite", NULL);

	store->platform = platform;
	store->directory = g_strdup(directory);
	store->lock_fd = -1;
	g_queue_init(&store->pending);
	if (!make_directories(store, error) || !lock(store, error))
		return NULL;
	store->database = database_open(&database_kind, platform->disk->vfs, path, DATABASE_CREATE,
					BUSY_MS, error);
	if (!store->database || !database_identify(store->database, true, error) ||
	    !database_exec(store->database,
			   "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
			   "set up the journal", error) ||
	    !database_migrate(store->database, error) ||
	    !database_check(store->database, NULL, error) || !read_meta(store, error))
		return NULL;
	return g_steal_pointer(&store);
}

void task_store_close(struct task_store *store)
{
	if (!store)
		return;
	if (store->database)
		task_store_flush(store);
	g_queue_clear_full(&store->pending, write_free);
	database_close(store->database);
	if (store->lock_fd >= 0)
		close(store->lock_fd);
	g_free(store->directory);
	g_free(store->incarnation);
	g_free(store);
}

const char *task_store_incarnation(const struct task_store *store)
{
	return store->incarnation;
}

/* Stored tasks. An invalid record is moved aside, and never prevents a start. */

static void free_task(gpointer task)
{
	task_free(task);
}

/* A row of the table `tasks`, as it is stored. Texts are NULL where they are damaged. */
struct task_row {
	char *id, *request, *record;
	int64_t number;
};

static void task_row_free(void *row);

static const struct record_field task_row_fields[] = {
	{RECORD_FIELD_TEXT(task_row, id), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_TEXT(task_row, request), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_TEXT(task_row, record), .null = RECORD_NULL_POINTER},
	{RECORD_FIELD_I64(task_row, number)},
	{NULL},
};
static const struct record task_row_record = {.name = "task",
					      .size = sizeof(struct task_row),
					      .fields = task_row_fields,
					      .free = task_row_free,
					      .table = "tasks"};

static void task_row_free(void *row)
{
	record_free(&task_row_record, row);
}

/* Replaces the request by its readable parts. */
static void replace_request(struct task_store *store, const struct task *task)
{
	g_autofree char *request = task_request_text(task);

	database_do(store->database, "UPDATE tasks SET request = ? WHERE id = ?",
		    DATABASE_ARGS(request, task->id), "store a task", NULL);
}

/*
 * Moves a damaged row to the table `damaged`; with `whole` also deletes the row itself, which would
 * be found again at each start.
 */
static void put_aside(struct task_store *store, const struct task_row *row, bool whole)
{
	const char *id = row->id ?: "";
	g_autoptr(GError) error = NULL;

	if (database_begin(store->database, &error) &&
	    database_do(store->database, "INSERT INTO damaged VALUES (?, ?, ?)",
			DATABASE_ARGS(id, row->request, row->record), "put a record aside",
			&error) &&
	    (!whole || database_do(store->database, "DELETE FROM tasks WHERE number = ?",
				   DATABASE_ARGS(row->number), "put a record aside", &error)) &&
	    database_commit(store->database, &error))
		return;
	log_warning("a damaged record could not be put aside: %s", error->message);
	database_rollback(store->database);
}

/*
 * Moves a damaged row aside and returns its task as lost, so that its name stays known and it is
 * not executed again. NULL: not even the name is readable.
 */
static struct task *quarantine(struct task_store *store, const struct task_row *row,
			       const GError *why)
{
	const int64_t now_ns = platform_now_ns(store->platform);
	struct task *task = NULL;

	if (row->id && task_id_ok(row->id))
		task = task_restore(row->id, row->request ?: "", "{}", now_ns, NULL)
			       ?: task_restore(row->id, NO_REQUEST, "{}", now_ns, NULL);
	put_aside(store, row, !task);
	log_error("task '%s': its record is damaged (%s) and was put aside (table damaged of "
		  "local.sqlite): the task is lost",
		  task ? task->id : "?", why->message);
	if (!task)
		return NULL;
	task_end(task, TASK_OUTCOME_LOST, "what the local scheduler had on record of it is damaged",
		 now_ns);
	replace_request(store, task);
	task_store_update(store, task, "task-ended");
	return task;
}

static struct task *load_task(struct task_store *store, const struct task_row *row)
{
	g_autoptr(GError) why = NULL;
	struct task *task = NULL;

	if (row->id && !task_id_ok(row->id))
		g_set_error(&why, DATABASE_ERROR, DATABASE_ERROR_OPEN,
			    "its name is none that a task can have");
	else if (row->id && row->request && row->record)
		task = task_restore(row->id, row->request, row->record,
				    platform_now_ns(store->platform), &why);
	else
		g_set_error(&why, DATABASE_ERROR, DATABASE_ERROR_OPEN, "parts of it are missing");
	return task ?: quarantine(store, row, why);
}

GPtrArray *task_store_load(struct task_store *store, GError **error)
{
	g_autoptr(GPtrArray) rows =
		database_list(store->database, &task_row_record, "ORDER BY number",
			      DATABASE_NO_ARGS, "read the tasks", error);
	GPtrArray *tasks;

	if (!rows)
		return NULL;
	tasks = g_ptr_array_new_with_free_func(free_task);
	for (guint i = 0; i < rows->len; i++) {
		struct task *task = load_task(store, rows->pdata[i]);

		if (task)
			g_ptr_array_add(tasks, task);
	}
	return tasks;
}

/* VMs. */

/* Warns where the position of a VM could not be stored. */
static bool check_kept(const struct task_store *store, uint32_t number, bool kept)
{
	if (!kept)
		log_warning("where VM %u is could not be stored: %s", number,
			    database_last_error(store->database));
	return kept;
}

/* In this order: a VM that is recorded on two hosts is looked for on both. */
bool task_store_keep_host(struct task_store *store, uint32_t number, const char *host)
{
	return check_kept(store, number,
			  database_do(store->database, "INSERT OR REPLACE INTO vms VALUES (?, ?)",
				      DATABASE_ARGS(number, host), "store a VM's host", NULL) &&
				  database_do(store->database,
					      "DELETE FROM vms_to WHERE number = ?",
					      DATABASE_ARGS(number), "store a VM's host", NULL));
}

bool task_store_expect_host(struct task_store *store, uint32_t number, const char *host)
{
	return check_kept(store, number,
			  database_do(store->database,
				      "INSERT OR REPLACE INTO vms_to VALUES (?, ?)",
				      DATABASE_ARGS(number, host), "store a VM's host", NULL));
}

void task_store_forget_hosts(struct task_store *store)
{
	database_exec(store->database, "DELETE FROM vms", "forget the VMs", NULL);
	database_exec(store->database, "DELETE FROM vms_to", "forget the VMs", NULL);
}

char *task_store_host(struct task_store *store, uint32_t number)
{
	return database_find_text(store->database, "SELECT host FROM vms WHERE number = ?",
				  DATABASE_ARGS(number), "read a VM's host", NULL);
}

char *task_store_expected_host(struct task_store *store, uint32_t number)
{
	return database_find_text(store->database, "SELECT host FROM vms_to WHERE number = ?",
				  DATABASE_ARGS(number), "read a VM's host", NULL);
}

/* Outputs. */

char *task_store_file_path(const struct task_store *store, const char *id, const char *ending)
{
	g_autofree char *name = g_strconcat(id, ending, NULL);

	return g_build_filename(store->directory, "tasks", name, NULL);
}

bool task_store_save_output(struct task_store *store, const char *id, const char *text,
			    size_t length, GError **error)
{
	g_autofree char *path = task_store_file_path(store, id, ".out");

	return platform_write(store->platform, path, text, length, false, error);
}

static GBytes *read_file(const struct task_store *store, const char *id, const char *ending)
{
	g_autofree char *path = task_store_file_path(store, id, ending);
	size_t length;
	char *text = platform_read(store->platform, path, SIZE_MAX, &length, NULL);

	return text ? g_bytes_new_take(text, length) : NULL;
}

GBytes *task_store_output_bytes(const struct task_store *store, const char *id)
{
	return read_file(store, id, ".out");
}

bool task_store_save_results(struct task_store *store, const char *id, GBytes *stream,
			     GError **error)
{
	g_autofree char *path = task_store_file_path(store, id, ".files");
	gsize length;
	const char *bytes = g_bytes_get_data(stream, &length);

	return platform_write(store->platform, path, bytes, length, false, error);
}

GBytes *task_store_results(const struct task_store *store, const char *id)
{
	return read_file(store, id, ".files");
}

char *task_store_output(const struct task_store *store, const char *id)
{
	g_autoptr(GBytes) bytes = task_store_output_bytes(store, id);
	const char *text;
	gsize length;

	if (!bytes)
		return NULL;
	text = g_bytes_get_data(bytes, &length);
	return g_utf8_make_valid(text ?: "", (gssize)length);
}
