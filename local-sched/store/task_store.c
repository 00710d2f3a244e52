/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/store/task_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

#define BUSY_MS 5000

/* All that it holds the controller has as well, or can do without. */
#define DAMAGE_CURE                                                                                \
	"; move the state directory away and start again: tasks that ran are lost, and started anew"

/* In the place of a request that cannot be read. */
#define NO_REQUEST                                                                                 \
	"{\"type\": \"unknown\", \"benchmark\": \"is\", \"class\": \"S\", \"ranks\": 1, "              \
	"\"repetitions\": 1, \"nodes\": [0], \"deadline_s\": 1}"

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

/* The version of the schema that this program writes. */
#define SCHEMA_VERSION 2

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS tasks (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" state TEXT NOT NULL, request TEXT NOT NULL, record TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL,"
	" kind TEXT NOT NULL, task TEXT, node INTEGER, host TEXT, detail TEXT NOT NULL);";

/* These came one by one while the version stayed 1: a file of that version has some of them. */
static const char schema_since[] =
	"CREATE TABLE IF NOT EXISTS vms (number INTEGER PRIMARY KEY, host TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS damaged (id TEXT NOT NULL, request TEXT, record TEXT);"
	"CREATE TABLE IF NOT EXISTS vms_to (number INTEGER PRIMARY KEY, host TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS taken (seq INTEGER PRIMARY KEY, attended_s REAL NOT NULL);"
	"CREATE TABLE IF NOT EXISTS past (stem TEXT PRIMARY KEY, attempt INTEGER NOT NULL) WITHOUT ROWID;";

/* What brings a file of the version before, 0 for a new one, to this one. Version 1 was written last, after its
 * tables: a file of version 0 may have them, too. */
static const char *const steps[] = {
	[1] = schema,
	[2] = schema_since,
};
G_STATIC_ASSERT(G_N_ELEMENTS(steps) == SCHEMA_VERSION + 1);

G_DEFINE_QUARK(virtbed-task-store, task_store_error)

static void record_free(gpointer data)
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

/* SQLite. */

static bool is_damage(int code)
{
	return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

static bool sql_error(struct task_store *store, enum task_store_error code, GError **error)
{
	g_set_error(error, TASK_STORE_ERROR, (gint)code, "state '%s/local.sqlite': %s%s",
		    store->directory, sqlite3_errmsg(store->database),
		    is_damage(sqlite3_errcode(store->database)) ? DAMAGE_CURE : "");
	return false;
}

/* Opening. */

static bool lock(struct task_store *store, GError **error)
{
	g_autofree char *path = g_build_filename(store->directory, "lock", NULL);

	store->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (store->lock_fd >= 0 && flock(store->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	g_set_error(error, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
		    "state directory '%s': %s", store->directory,
		    errno == EWOULDBLOCK ? "another local scheduler uses it" : g_strerror(errno));
	return false;
}

static bool make_directories(struct task_store *store, GError **error)
{
	g_autofree char *tasks = g_build_filename(store->directory, "tasks", NULL);

	if (g_mkdir_with_parents(store->directory, 0700) == 0 &&
	    g_mkdir_with_parents(tasks, 0700) == 0)
		return true;
	g_set_error(error, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
		    "cannot make state directory '%s': %s", store->directory, g_strerror(errno));
	return false;
}

char *task_store_query_text(struct task_store *store, const char *sql)
{
	sqlite3_stmt *statement = prepare(store, sql);
	char *text = NULL;

	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		text = g_strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return text;
}

static bool read_meta(struct task_store *store, GError **error)
{
	g_autofree char *last = NULL;

	store->incarnation = task_store_query_text(store, "SELECT value FROM meta WHERE key = 'incarnation'");
	if (!store->incarnation) {
		sqlite3_stmt *insert =
			prepare(store, "INSERT INTO meta VALUES ('incarnation', ?)");

		store->incarnation = g_uuid_string_random();
		bind_text(insert, 1, store->incarnation);
		if (!run(insert))
			return sql_error(store, TASK_STORE_ERROR_OPEN, error);
	}
	last = task_store_query_text(store, "SELECT coalesce(max(seq), 0) FROM events");
	if (!last)
		return sql_error(store, TASK_STORE_ERROR_OPEN, error);
	store->last_event = g_ascii_strtoull(last, NULL, 10);
	return true;
}

/* Adds what a file of an older version lacks; one of a newer version stays as it is. */
static bool complete_tables(struct task_store *store, GError **error)
{
	g_autofree char *text = task_store_query_text(store, "PRAGMA user_version");
	const gint64 version = text ? g_ascii_strtoll(text, NULL, 10) : 0;
	g_autoptr(GString) sql = g_string_new("BEGIN IMMEDIATE;");

	if (!text)
		return sql_error(store, TASK_STORE_ERROR_OPEN, error);
	if (version < 0 || version > SCHEMA_VERSION) {
		g_set_error(error, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
			    "state '%s/local.sqlite': written with schema %" G_GINT64_FORMAT
			    ", this local scheduler knows %d; use the newer one, or another state directory",
			    store->directory, version, SCHEMA_VERSION);
		return false;
	}
	for (gint64 next = version + 1; next <= SCHEMA_VERSION; next++)
		g_string_append(sql, steps[next]);
	g_string_append_printf(sql, "PRAGMA user_version = %d; COMMIT", SCHEMA_VERSION);
	return (execute(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL") &&
		(version == SCHEMA_VERSION || execute(store, sql->str))) ||
	       sql_error(store, TASK_STORE_ERROR_OPEN, error);
}

/* SQLite's own check of the whole file, which says nothing where it is sound. */
static bool check_pages(struct task_store *store, GError **error)
{
	g_autofree char *found = task_store_query_text(store, "PRAGMA quick_check(1)");

	if (g_strcmp0(found, "ok") == 0)
		return true;
	if (!found)
		return sql_error(store, TASK_STORE_ERROR_OPEN, error);
	g_strdelimit(found, "\n", ' ');
	g_set_error(error, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
		    "state '%s/local.sqlite': damaged: %s%s", store->directory, found, DAMAGE_CURE);
	return false;
}

struct task_store *task_store_open(const char *directory, GError **error)
{
	g_autoptr(task_store_t) store = g_new0(struct task_store, 1);
	g_autofree char *path = g_build_filename(directory, "local.sqlite", NULL);

	store->directory = g_strdup(directory);
	store->lock_fd = -1;
	g_queue_init(&store->pending);
	if (!make_directories(store, error) || !lock(store, error))
		return NULL;
	if (sqlite3_open(path, &store->database) != SQLITE_OK ||
	    sqlite3_busy_timeout(store->database, BUSY_MS) != SQLITE_OK) {
		sql_error(store, TASK_STORE_ERROR_OPEN, error);
		return NULL;
	}
	if (!complete_tables(store, error) || !check_pages(store, error) || !read_meta(store, error))
		return NULL;
	return g_steal_pointer(&store);
}

void task_store_close(struct task_store *store)
{
	if (!store)
		return;
	if (store->database)
		task_store_flush(store);
	g_queue_clear_full(&store->pending, record_free);
	sqlite3_close(store->database);
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

/* VMs. */

/* Runs `sql` about a VM; false: not stored. */
static bool keep(struct task_store *store, const char *sql, uint32_t number, const char *host)
{
	sqlite3_stmt *statement = prepare(store, sql);

	sqlite3_bind_int64(statement, 1, number);
	if (host)
		bind_text(statement, 2, host);
	if (run(statement))
		return true;
	log_warning("where VM %u is could not be stored: %s", number, sqlite3_errmsg(store->database));
	return false;
}

/* In this order: one that is thought to be on two hosts is looked for on both. */
bool task_store_keep_host(struct task_store *store, uint32_t number, const char *host)
{
	return keep(store, "INSERT OR REPLACE INTO vms VALUES (?, ?)", number, host) &&
	       keep(store, "DELETE FROM vms_to WHERE number = ?", number, NULL);
}

bool task_store_expect_host(struct task_store *store, uint32_t number, const char *host)
{
	return keep(store, "INSERT OR REPLACE INTO vms_to VALUES (?, ?)", number, host);
}

void task_store_forget_hosts(struct task_store *store)
{
	execute(store, "DELETE FROM vms");
	execute(store, "DELETE FROM vms_to");
}

static char *host_by(struct task_store *store, const char *sql, uint32_t number)
{
	sqlite3_stmt *statement = prepare(store, sql);
	char *host = NULL;

	sqlite3_bind_int64(statement, 1, number);
	if (statement && sqlite3_step(statement) == SQLITE_ROW)
		host = g_strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return host;
}

char *task_store_host(struct task_store *store, uint32_t number)
{
	return host_by(store, "SELECT host FROM vms WHERE number = ?", number);
}

char *task_store_expected_host(struct task_store *store, uint32_t number)
{
	return host_by(store, "SELECT host FROM vms_to WHERE number = ?", number);
}

/* Tasks. */

static void free_task(gpointer task)
{
	task_free(task);
}

/* One row of the table, as it is stored. */
struct row {
	int64_t number;
	char *id, *request, *record;
};

static void row_free(gpointer data)
{
	struct row *row = data;

	g_free(row->id);
	g_free(row->request);
	g_free(row->record);
	g_free(row);
}

static GPtrArray *read_rows(struct task_store *store, GError **error)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(row_free);
	sqlite3_stmt *statement =
		prepare(store, "SELECT id, request, record, number FROM tasks ORDER BY number");
	int code = SQLITE_ERROR;

	while (statement && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		struct row *row = g_new0(struct row, 1);

		row->id = g_strdup(column_text(statement, 0));
		row->request = g_strdup(column_text(statement, 1));
		row->record = g_strdup(column_text(statement, 2));
		row->number = sqlite3_column_int64(statement, 3);
		g_ptr_array_add(rows, row);
	}
	if (code != SQLITE_DONE)
		sql_error(store, TASK_STORE_ERROR_OPEN, error);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? g_steal_pointer(&rows) : NULL;
}

/* What was asked for, as far as it could be read. */
static void replace_request(struct task_store *store, const struct task *task)
{
	sqlite3_stmt *update = prepare(store, "UPDATE tasks SET request = ? WHERE id = ?");
	g_autofree char *request = task_request_text(task);

	bind_text(update, 1, request);
	bind_text(update, 2, task->id);
	run(update);
}

static bool copy_damaged(struct task_store *store, const struct row *row)
{
	sqlite3_stmt *insert = prepare(store, "INSERT INTO damaged VALUES (?, ?, ?)");

	bind_text(insert, 1, row->id ?: "");
	bind_text(insert, 2, row->request);
	bind_text(insert, 3, row->record);
	return run(insert);
}

static bool remove_row(struct task_store *store, const struct row *row)
{
	sqlite3_stmt *statement = prepare(store, "DELETE FROM tasks WHERE number = ?");

	sqlite3_bind_int64(statement, 1, row->number);
	return run(statement);
}

/* What there was of a row; the row itself goes with `whole`, since it would be found anew at each start. */
static void put_aside(struct task_store *store, const struct row *row, bool whole)
{
	if (execute(store, "BEGIN") && copy_damaged(store, row) &&
	    (!whole || remove_row(store, row)) && execute(store, "COMMIT"))
		return;
	log_warning("a damaged record could not be put aside: %s", sqlite3_errmsg(store->database));
	execute(store, "ROLLBACK");
}

/*
 * A task whose row makes no sense: it stays known by its name, so that it is not run once more, as lost.
 * What there was is put aside. Not even a name: NULL.
 */
static struct task *quarantine(struct task_store *store, const struct row *row, const GError *why)
{
	struct task *task = NULL;

	if (row->id && task_id_ok(row->id))
		task = task_restore(row->id, row->request ?: "", "{}", NULL)
			       ?: task_restore(row->id, NO_REQUEST, "{}", NULL);
	put_aside(store, row, !task);
	log_error("task '%s': its record is damaged (%s) and was put aside (table damaged of "
		  "local.sqlite): the task is lost",
		  task ? task->id : "?", why->message);
	if (!task)
		return NULL;
	task->state = TASK_ENDED;
	task->outcome = TASK_OUTCOME_LOST;
	task->reason = g_strdup("what the local scheduler had on record of it is damaged");
	task->ended_ns = clock_now_ns();
	replace_request(store, task);
	task_store_update(store, task, "task-ended");
	return task;
}

static struct task *load_task(struct task_store *store, const struct row *row)
{
	g_autoptr(GError) why = NULL;
	struct task *task = NULL;

	if (row->id && !task_id_ok(row->id))
		g_set_error(&why, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN,
			    "its name is none that a task can have");
	else if (row->id && row->request && row->record)
		task = task_restore(row->id, row->request, row->record, &why);
	else
		g_set_error(&why, TASK_STORE_ERROR, TASK_STORE_ERROR_OPEN, "parts of it are missing");
	return task ?: quarantine(store, row, why);
}

GPtrArray *task_store_load(struct task_store *store, GError **error)
{
	g_autoptr(GPtrArray) rows = read_rows(store, error);
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
	return sql_error(store, TASK_STORE_ERROR_WRITE, error);
}

/* Records. */

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
		record_free(g_queue_pop_head(&store->pending));
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
	json_object_set_new(event, "task", task ? json_string(task) : json_null());
	json_object_set_new(event, "node", node >= 0 ? json_integer(node) : json_null());
	json_object_set_new(event, "host", host ? json_string(host) : json_null());
	json_object_set_new(event, "detail", json_loads(detail, 0, NULL));
	return event;
}

/* What is not written yet is in the stream all the same. */
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

	return g_file_set_contents_full(path, text, (gssize)length, G_FILE_SET_CONTENTS_CONSISTENT,
					0600, error);
}

static GBytes *read_file(const struct task_store *store, const char *id, const char *ending)
{
	g_autofree char *path = task_store_file_path(store, id, ending);
	char *text;
	gsize length;

	return g_file_get_contents(path, &text, &length, NULL) ? g_bytes_new_take(text, length)
								: NULL;
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

	return g_file_set_contents_full(path, bytes, (gssize)length,
					G_FILE_SET_CONTENTS_CONSISTENT, 0600, error);
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
