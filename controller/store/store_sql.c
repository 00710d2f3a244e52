/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/store/store_private.h"

#include <errno.h>

/* The basis of the store's other files: errors of SQLite as STORE_ERROR, and transactions. */

/* Translates a result code of SQLite. */
static enum store_error translate(sqlite3 *db, int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return STORE_ERROR_FULL;
	case SQLITE_NOTADB:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return STORE_ERROR_OPEN;
	case SQLITE_CORRUPT:
		return STORE_ERROR_CORRUPT;
	case SQLITE_IOERR:
		if (code == SQLITE_IOERR_SHORT_READ)
			return STORE_ERROR_CORRUPT;
		/*
		 * SQLite reports an exceeded quota as an I/O error; to callers it is a full disk.
		 */
		return db && sqlite3_system_errno(db) == EDQUOT ? STORE_ERROR_FULL
								: STORE_ERROR_SQL;
	default:
		return STORE_ERROR_SQL;
	}
}

void store_fail(struct store *store, int code, const char *doing, GError **error)
{
	enum store_error translated = translate(store->db, code);

	switch (translated) {
	case STORE_ERROR_FULL:
		g_set_error(error, STORE_ERROR, translated,
			    "%s: cannot %s: the disk is full; make room", store->path, doing);
		break;
	case STORE_ERROR_CORRUPT:
		g_set_error(error, STORE_ERROR, translated,
			    "%s: damaged or truncated: %s" STORE_CURE, store->path,
			    sqlite3_errmsg(store->db));
		break;
	default:
		if ((code & 0xff) == SQLITE_NOTADB)
			g_set_error(error, STORE_ERROR, translated, "%s: not a store of virtbed",
				    store->path);
		else
			g_set_error(error, STORE_ERROR, translated, "%s: cannot %s: %s",
				    store->path, doing, sqlite3_errmsg(store->db));
	}
}

bool store_exec(struct store *store, const char *sql, const char *doing, GError **error)
{
	int code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	if (code == SQLITE_OK)
		return true;
	store_fail(store, sqlite3_extended_errcode(store->db), doing, error);
	return false;
}

bool store_begin(struct store *store, GError **error)
{
	return store_exec(store, "BEGIN IMMEDIATE", "begin a transaction", error);
}

bool store_check_begun(const struct store *store, GError **error)
{
	if (!sqlite3_get_autocommit(store->db))
		return true;
	g_set_error(error, STORE_ERROR, STORE_ERROR_SQL, "%s: an earlier failure undid the transaction",
		    store->path);
	return false;
}

bool store_commit(struct store *store, GError **error)
{
	if (!store_check_begun(store, error))
		return false;
	if (store_exec(store, "COMMIT", "commit", error))
		return true;
	store_rollback(store);
	return false;
}

void store_rollback(struct store *store)
{
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}
