/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/store/task_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/error_fail.h"
#include "local-sched/store/task_store_private.h"

#define LOG_SUBSYSTEM "store"
#include "common/log.h"

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
 * Each step updates a file of the version before (0 for a new one). Version 1 was written last,
 * after its tables, so a file of version 0 may have them too.
 */
static const struct database_step steps[] = {
	[1] = {.sql = schema},
	[2] = {.sql = schema_since},
};
G_STATIC_ASSERT(G_N_ELEMENTS(steps) == SCHEMA_VERSION + 1);

static const struct record *const no_records[] = {NULL};

static const struct database_kind kind = {
	.noun = "state",
	.what = "that of a local scheduler" DAMAGE_CURE,
	.reader = "this local scheduler",
	.newer = "; use the newer one, or another state directory",
	.cure = DAMAGE_CURE,
	.version = SCHEMA_VERSION,
	.steps = steps,
	.records = no_records,
};

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
		store->incarnation = g_uuid_string_random();
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
	store->database =
		database_open(&kind, platform->disk->vfs, path, DATABASE_CREATE, BUSY_MS, error);
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
	g_queue_clear_full(&store->pending, task_store_write_free);
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
