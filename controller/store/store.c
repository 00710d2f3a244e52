/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

#include "common/read_file.h"

/* How long a reader waits for a writer's commit, and a writer for a reader. */
#define BUSY_TIMEOUT_MS 5000

G_DEFINE_QUARK(virtbed-store, store_error)

bool store_error_is_input(const GError *error)
{
	return g_error_matches(error, STORE_ERROR, STORE_ERROR_OPEN) ||
	       g_error_matches(error, STORE_ERROR, STORE_ERROR_SCHEMA) ||
	       g_error_matches(error, STORE_ERROR, STORE_ERROR_CORRUPT);
}

/* Whether `dir` has a store; else sets a one-line error. */
static bool find_file(const char *dir, const char *path, GError **error)
{
	GStatBuf status;

	if (g_stat(dir, &status) != 0) {
		g_set_error(error, STORE_ERROR, STORE_ERROR_OPEN, "%s: %s", dir, g_strerror(errno));
		return false;
	}
	if (!S_ISDIR(status.st_mode)) {
		g_set_error(error, STORE_ERROR, STORE_ERROR_OPEN,
			    "%s: not a directory; give the run directory", dir);
		return false;
	}
	if (g_stat(path, &status) != 0) {
		g_set_error(error, STORE_ERROR, STORE_ERROR_OPEN,
			    "%s: %s; not a run directory", path, g_strerror(errno));
		return false;
	}
	if (!S_ISREG(status.st_mode) || status.st_size == 0) {
		g_set_error(error, STORE_ERROR, STORE_ERROR_OPEN, "%s: %s", path,
			    S_ISREG(status.st_mode) ? "the file is empty" : "not a file");
		return false;
	}
	return true;
}

struct store *store_open_beside(const char *path, int version, int busy_ms, GError **error)
{
	g_autoptr(store_t) store = g_new0(struct store, 1);
	int code;

	store->path = g_strdup(path);
	store->version = version;
	code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE, NULL);
	if (code != SQLITE_OK) {
		store_fail(store, code, "open", error);
		return NULL;
	}
	sqlite3_extended_result_codes(store->db, 1);
	sqlite3_busy_timeout(store->db, busy_ms);
	return g_steal_pointer(&store);
}

static bool make_dir(const char *dir, GError **error)
{
	if (g_mkdir_with_parents(dir, 0755) == 0)
		return true;
	g_set_error(error, STORE_ERROR,
		    errno == ENOSPC || errno == EDQUOT ? STORE_ERROR_FULL : STORE_ERROR_OPEN,
		    "cannot make the run directory \"%s\": %s", dir, g_strerror(errno));
	return false;
}

void store_wait_for_others(struct store *store, bool wait)
{
	sqlite3_busy_timeout(store->db, wait ? BUSY_TIMEOUT_MS : 0);
}

/*
 * Opens the file for a single thread: SQLite's mutex would be locked for each bound value, a tenth
 * of the time of storing a task.
 */
static int open_file(struct store *store, const char *name, int flags)
{
	int code;

	sqlite3_close(store->db);
	store->db = NULL;
	code = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK) {
		sqlite3_extended_result_codes(store->db, 1);
		store_wait_for_others(store, true);
		code = sqlite3_exec(store->db, "SELECT count(*) FROM sqlite_master", NULL, NULL,
				    NULL);
	}
	return code;
}

/*
 * Opens a finished store in a directory without write permission, where WAL mode cannot make its
 * files. Without a WAL file the database can be read as it is.
 */
static int open_immutable(struct store *store)
{
	g_autofree char *wal = g_strconcat(store->path, "-wal", NULL);
	g_autofree char *escaped = g_uri_escape_string(store->path, "/", TRUE);
	g_autofree char *uri = g_strdup_printf("file:%s?immutable=1", escaped);

	if (g_file_test(wal, G_FILE_TEST_EXISTS))
		return SQLITE_CANTOPEN;
	return open_file(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

static bool open_database(struct store *store, bool create, GError **error)
{
	int code = open_file(store, store->path,
			     SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0));

	if (!create && ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY))
		code = open_immutable(store);
	if (code == SQLITE_OK)
		return true;
	store_fail(store, code, "open", error);
	return false;
}

/*
 * Every commit survives the death of this process. When the machine loses power, NORMAL may lose
 * the last commits, but never the file's integrity.
 */
static bool set_journal(struct store *store, GError **error)
{
	return store_exec(store,
			  "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
			  "PRAGMA foreign_keys = ON",
			  "set up the journal", error);
}

static struct store *open_store(const char *dir, bool create, bool whole, GError **error)
{
	g_autoptr(store_t) store = g_new0(struct store, 1);
	g_autoptr(GError) reason = NULL;

	store->path = g_build_filename(dir, STORE_FILE, NULL);
	if (create ? !make_dir(dir, error) : !find_file(dir, store->path, error))
		return NULL;
	if (create && !read_file_check_if_there(store->path, READ_FILE_ANY_SIZE, &reason)) {
		g_set_error_literal(error, STORE_ERROR, STORE_ERROR_OPEN, reason->message);
		return NULL;
	}
	if (!open_database(store, create, error))
		return NULL;
	if (create && !set_journal(store, error))
		return NULL;
	if (!store_schema_apply(store, create, whole, error))
		return NULL;
	if (!create && !sqlite3_db_readonly(store->db, "main") && !set_journal(store, error))
		return NULL;
	return g_steal_pointer(&store);
}

struct store *store_open(const char *dir, bool create, GError **error)
{
	return open_store(dir, create, true, error);
}

struct store *store_open_to_serve(const char *dir, GError **error)
{
	return open_store(dir, true, false, error);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	for (int i = 0; i < STORE_STATEMENTS; i++)
		sqlite3_finalize(store->statements[i]);
	sqlite3_close(store->db);
	g_free(store->path);
	g_free(store);
}
