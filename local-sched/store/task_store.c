/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/store/task_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"
#include "common/read_number.h"

#define BUSY_MS 5000

/* The controller has everything that the store holds, or can do without it. */
#define DAMAGE_CURE                                                                                \
	"; move the state directory away and start again: tasks that ran are lost, and started again"

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
 * Updates a file of the version before (0 for a new one) to this version. Version 1 was written
 * last, after its tables, so a file of version 0 may have them too.
 */
static const char *const steps[] = {
	[1] = schema,
	[2] = schema_since,
};
G_STATIC_ASSERT(G_N_ELEMENTS(steps) == SCHEMA_VERSION + 1);

G_DEFINE_QUARK(virtbed-task-store, task_store_error)

/* SQLite. */

static bool is_damage(int code)
{
	return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

bool task_store_fail(struct task_store *store, enum task_store_error code, GError **error)
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

	store->incarnation = task_store_query_text(store,
						   "SELECT value FROM meta WHERE key = 'incarnation'");
	if (!store->incarnation) {
		sqlite3_stmt *insert =
			prepare(store, "INSERT INTO meta VALUES ('incarnation', ?)");

		store->incarnation = g_uuid_string_random();
		bind_text(insert, 1, store->incarnation);
		if (!run(insert))
			return task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
	}
	last = task_store_query_text(store, "SELECT coalesce(max(seq), 0) FROM events");
	return read_number_unsigned(last, 0, INT64_MAX, &store->last_event) ||
	       task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
}

/* Adds what a file of an older version lacks. A file of a newer version stays as it is. */
static bool complete_tables(struct task_store *store, GError **error)
{
	g_autofree char *text = task_store_query_text(store, "PRAGMA user_version");
	int64_t version;
	g_autoptr(GString) sql = g_string_new("BEGIN IMMEDIATE;");

	if (!read_number_integer(text, INT64_MIN, INT64_MAX, &version))
		return task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
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
	       task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
}

/* SQLite's check of the whole file, which prints nothing for a sound one. */
static bool check_pages(struct task_store *store, GError **error)
{
	g_autofree char *found = task_store_query_text(store, "PRAGMA quick_check(1)");

	if (g_strcmp0(found, "ok") == 0)
		return true;
	if (!found)
		return task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
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
		task_store_fail(store, TASK_STORE_ERROR_OPEN, error);
		return NULL;
	}
	if (!complete_tables(store, error) || !check_pages(store, error) ||
	    !read_meta(store, error))
		return NULL;
	return g_steal_pointer(&store);
}

void task_store_close(struct task_store *store)
{
	if (!store)
		return;
	if (store->database)
		task_store_flush(store);
	g_queue_clear_full(&store->pending, task_store_record_free);
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

/* Executes `sql` about a VM; false: not stored. */
static bool keep(struct task_store *store, const char *sql, uint32_t number, const char *host)
{
	sqlite3_stmt *statement = prepare(store, sql);

	sqlite3_bind_int64(statement, 1, number);
	if (host)
		bind_text(statement, 2, host);
	if (run(statement))
		return true;
	log_warning("where VM %u is could not be stored: %s", number,
		    sqlite3_errmsg(store->database));
	return false;
}

/* In this order: a VM that is recorded on two hosts is looked for on both. */
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
