/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sys/stat.h>

#include "common/error_fail.h"
#include "common/read_file.h"

bool store_error_is_input(const GError *error)
{
	return g_error_matches(error, DATABASE_ERROR, DATABASE_ERROR_OPEN) ||
	       g_error_matches(error, DATABASE_ERROR, DATABASE_ERROR_SCHEMA) ||
	       g_error_matches(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
}

/* Whether `dir` has a store; else sets a one-line error. */
static bool find_file(const char *dir, const char *path, GError **error)
{
	GStatBuf status;

	if (g_stat(dir, &status) != 0)
		return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN, "%s: %s", dir,
				  g_strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN,
				  "%s: not a directory; give the run directory", dir);
	if (g_stat(path, &status) != 0)
		return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN,
				  "%s: %s; not a run directory", path, g_strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size == 0)
		return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_OPEN, "%s: %s", path,
				  S_ISREG(status.st_mode) ? "the file is empty" : "not a file");
	return true;
}

struct store *store_open_beside(const struct platform *platform, const char *path, int version,
				int busy_ms, GError **error)
{
	g_autoptr(store_t) store = g_new0(struct store, 1);

	store->platform = platform;
	store->database = database_open(&store_kind, platform->disk->vfs, path, DATABASE_WRITE,
					busy_ms, error);
	if (!store->database)
		return NULL;
	database_set_version(store->database, version);
	return g_steal_pointer(&store);
}

static bool make_dir(const char *dir, GError **error)
{
	if (g_mkdir_with_parents(dir, 0755) == 0)
		return true;
	return error_fail(error, DATABASE_ERROR,
			  errno == ENOSPC || errno == EDQUOT ? DATABASE_ERROR_FULL
							     : DATABASE_ERROR_OPEN,
			  "cannot make the run directory \"%s\": %s", dir, g_strerror(errno));
}

/*
 * Every commit survives the death of this process. When the machine loses power, NORMAL may lose
 * the last commits, but never the file's integrity.
 */
static bool set_journal(struct store *store, GError **error)
{
	return database_exec(store->database,
			     "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
			     "PRAGMA foreign_keys = ON",
			     "set up the journal", error);
}

static struct store *open_store(const struct platform *platform, const char *dir, bool create,
				bool whole, GError **error)
{
	g_autoptr(store_t) store = g_new0(struct store, 1);
	g_autofree char *path = g_build_filename(dir, STORE_FILE, NULL);
	g_autoptr(GError) reason = NULL;

	store->platform = platform;
	if (create ? !make_dir(dir, error) : !find_file(dir, path, error))
		return NULL;
	if (create && !read_file_check_if_there(path, READ_FILE_ANY_SIZE, &reason))
		return error_null(error, DATABASE_ERROR, DATABASE_ERROR_OPEN, "%s",
				  reason->message);
	store->database =
		database_open(&store_kind, platform->disk->vfs, path,
			      create ? DATABASE_CREATE : DATABASE_READ, STORE_BUSY_MS, error);
	if (!store->database || (create && !set_journal(store, error)) ||
	    !database_identify(store->database, create, error))
		return NULL;
	if (database_version(store->database) > 0 && !store_check_pages(store, whole, error))
		return NULL;
	if (create && !database_migrate(store->database, error))
		return NULL;
	if (!create && !sqlite3_db_readonly(database_handle(store->database), "main") &&
	    !set_journal(store, error))
		return NULL;
	return g_steal_pointer(&store);
}

struct store *store_open(const char *dir, bool create, GError **error)
{
	return open_store(&platform_machine, dir, create, true, error);
}

struct store *store_open_on(const struct platform *platform, const char *dir, bool serve,
			    GError **error)
{
	return open_store(platform, dir, true, !serve, error);
}

void store_close(struct store *store)
{
	if (!store)
		return;
	database_close(store->database);
	g_free(store);
}

int store_version(const struct store *store)
{
	return database_version(store->database);
}

bool store_begin(struct store *store, GError **error)
{
	return database_begin(store->database, error);
}

bool store_check_begun(const struct store *store, GError **error)
{
	return database_check_begun(store->database, error);
}

bool store_commit(struct store *store, GError **error)
{
	return database_commit(store->database, error);
}

void store_rollback(struct store *store)
{
	database_rollback(store->database);
}

bool store_end(struct store *store, bool good, GError **error)
{
	if (good)
		return store_commit(store, error);
	store_rollback(store);
	return false;
}
