/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "common/error_fail.h"
#include "common/sqlite/database_private.h"

G_DEFINE_QUARK(virtbed_database, database_error)

/* Errors. */

/* Translates a result code of SQLite. */
static enum database_error translate(sqlite3 *handle, int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return DATABASE_ERROR_FULL;
	case SQLITE_NOTADB:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return DATABASE_ERROR_OPEN;
	case SQLITE_CORRUPT:
		return DATABASE_ERROR_CORRUPT;
	case SQLITE_IOERR:
		if (code == SQLITE_IOERR_SHORT_READ)
			return DATABASE_ERROR_CORRUPT;
		/*
		 * SQLite reports an exceeded quota as an I/O error; to callers it is a full disk.
		 */
		return handle && sqlite3_system_errno(handle) == EDQUOT ? DATABASE_ERROR_FULL
									: DATABASE_ERROR_SQL;
	default:
		return DATABASE_ERROR_SQL;
	}
}

bool database_fail(struct database *database, int code, const char *doing, GError **error)
{
	const enum database_error translated = translate(database->handle, code);
	const char *text =
		database->handle ? sqlite3_errmsg(database->handle) : sqlite3_errstr(code);

	if (translated == DATABASE_ERROR_FULL)
		return error_fail(error, DATABASE_ERROR, translated,
				  "%s: cannot %s: the disk is full; make room", database->name,
				  doing);
	if (translated == DATABASE_ERROR_CORRUPT)
		return error_fail(error, DATABASE_ERROR, translated,
				  "%s: damaged or truncated: %s%s", database->name, text,
				  database->kind->cure);
	if ((code & 0xff) == SQLITE_NOTADB)
		return error_fail(error, DATABASE_ERROR, translated, "%s: not %s", database->name,
				  database->kind->what);
	return error_fail(error, DATABASE_ERROR, translated, "%s: cannot %s: %s", database->name,
			  doing, text);
}

/* Opening. */

/*
 * Opens the file for a single thread: SQLite's mutex would be locked for each bound value, a tenth
 * of the time of storing a task.
 */
static int open_file(struct database *database, const char *vfs, const char *name, int flags,
		     int busy_ms)
{
	int code;

	sqlite3_close(database->handle);
	database->handle = NULL;
	code = sqlite3_open_v2(name, &database->handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
	if (code != SQLITE_OK)
		return code;
	sqlite3_extended_result_codes(database->handle, 1);
	sqlite3_busy_timeout(database->handle, busy_ms);
	return sqlite3_exec(database->handle, "SELECT count(*) FROM sqlite_master", NULL, NULL,
			    NULL);
}

/*
 * Opens a file in a directory without write permission, where WAL mode cannot make its files.
 * Without a WAL file the database can be read as it is.
 */
static int open_immutable(struct database *database, const char *vfs, int busy_ms)
{
	g_autofree char *wal = g_strconcat(database->path, "-wal", NULL);
	g_autofree char *escaped = g_uri_escape_string(database->path, "/", TRUE);
	g_autofree char *uri = g_strdup_printf("file:%s?immutable=1", escaped);

	if (g_file_test(wal, G_FILE_TEST_EXISTS))
		return SQLITE_CANTOPEN;
	return open_file(database, vfs, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, busy_ms);
}

void database_finalize(void *statement)
{
	sqlite3_finalize(statement);
}

struct database *database_open(const struct database_kind *kind, const char *vfs, const char *path,
			       enum database_mode mode, int busy_ms, GError **error)
{
	g_autoptr(database_t) database = g_new0(struct database, 1);
	int code;

	database->kind = kind;
	database->path = g_strdup(path);
	database->name = kind->noun ? g_strdup_printf("%s '%s'", kind->noun, path) : g_strdup(path);
	database->statements = g_hash_table_new_full(NULL, NULL, NULL, database_finalize);
	code = open_file(database, vfs, path,
			 SQLITE_OPEN_READWRITE | (mode == DATABASE_CREATE ? SQLITE_OPEN_CREATE : 0),
			 busy_ms);
	if (mode == DATABASE_READ &&
	    ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY))
		code = open_immutable(database, vfs, busy_ms);
	if (code == SQLITE_OK)
		return g_steal_pointer(&database);
	database_fail(database, code, "open", error);
	return NULL;
}

void database_close(struct database *database)
{
	if (!database)
		return;
	g_hash_table_unref(database->statements);
	g_clear_pointer(&database->tables, g_hash_table_unref);
	sqlite3_close(database->handle);
	g_free(database->path);
	g_free(database->name);
	g_free(database);
}

int database_version(const struct database *database)
{
	return database->version;
}

void database_set_version(struct database *database, int version)
{
	database->version = version;
}

const char *database_path(const struct database *database)
{
	return database->path;
}

const char *database_last_error(const struct database *database)
{
	return sqlite3_errmsg(database->handle);
}

sqlite3 *database_handle(struct database *database)
{
	return database->handle;
}

void database_set_busy(struct database *database, int busy_ms)
{
	sqlite3_busy_timeout(database->handle, busy_ms);
}

/* Statements and transactions. */

bool database_exec(struct database *database, const char *sql, const char *doing, GError **error)
{
	if (sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK)
		return true;
	return database_fail(database, sqlite3_extended_errcode(database->handle), doing, error);
}

bool database_begin(struct database *database, GError **error)
{
	return database_exec(database, "BEGIN IMMEDIATE", "begin a transaction", error);
}

bool database_is_begun(const struct database *database)
{
	return !sqlite3_get_autocommit(database->handle);
}

bool database_check_begun(const struct database *database, GError **error)
{
	if (database_is_begun(database))
		return true;
	return error_fail(error, DATABASE_ERROR, DATABASE_ERROR_SQL,
			  "%s: an earlier failure undid the transaction", database->name);
}

bool database_commit(struct database *database, GError **error)
{
	if (!database_check_begun(database, error))
		return false;
	if (database_exec(database, "COMMIT", "commit", error))
		return true;
	database_rollback(database);
	return false;
}

void database_rollback(struct database *database)
{
	if (database_is_begun(database))
		sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

struct database_value database_text(const char *value)
{
	return (struct database_value){.type = DATABASE_TEXT, .text = value};
}

struct database_value database_integer(int64_t value)
{
	return (struct database_value){.type = DATABASE_INTEGER, .integer = value};
}

struct database_value database_real(double value)
{
	return (struct database_value){.type = DATABASE_REAL, .real = value};
}

void database_bind(sqlite3_stmt *statement, int column, struct database_value value)
{
	switch (value.type) {
	case DATABASE_TEXT:
		sqlite3_bind_text(statement, column, value.text, -1, SQLITE_STATIC);
		break;
	case DATABASE_INTEGER:
		sqlite3_bind_int64(statement, column, value.integer);
		break;
	case DATABASE_REAL:
		sqlite3_bind_double(statement, column, value.real);
		break;
	}
}

bool database_prepare(struct database *database, const char *sql, sqlite3_stmt **ret_statement,
		      GError **error)
{
	const int code = sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
					    ret_statement, NULL);

	return code == SQLITE_OK || database_fail(database, code, "use the tables", error);
}

sqlite3_stmt *database_query(struct database *database, const char *sql,
			     const struct database_value *arguments, size_t count, GError **error)
{
	sqlite3_stmt *statement = g_hash_table_lookup(database->statements, sql);

	if (!statement) {
		if (!database_prepare(database, sql, &statement, error))
			return NULL;
		g_hash_table_insert(database->statements, (void *)sql, statement);
	}
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	for (size_t i = 0; i < count; i++)
		database_bind(statement, (int)i + 1, arguments[i]);
	return statement;
}

bool database_do(struct database *database, const char *sql, const struct database_value *arguments,
		 size_t count, const char *doing, GError **error)
{
	sqlite3_stmt *statement = database_query(database, sql, arguments, count, error);

	return statement && database_run(database, statement, doing, error);
}

char *database_find_text(struct database *database, const char *sql,
			 const struct database_value *arguments, size_t count, const char *doing,
			 GError **error)
{
	sqlite3_stmt *statement = database_query(database, sql, arguments, count, error);
	struct database_cursor cursor = database_reading(statement);
	char *text = NULL;
	int code;

	if (!statement)
		return NULL;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		text = database_get_text(&cursor);
	else if (code != SQLITE_DONE)
		database_fail(database, code, doing, error);
	sqlite3_reset(statement);
	return text;
}

bool database_find_integer(struct database *database, const char *sql,
			   const struct database_value *arguments, size_t count, int64_t *ret_value,
			   const char *doing, GError **error)
{
	sqlite3_stmt *statement = database_query(database, sql, arguments, count, error);
	int code;

	if (!statement)
		return false;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW)
		*ret_value = sqlite3_column_int64(statement, 0);
	else
		database_fail(database, code, doing, error);
	sqlite3_reset(statement);
	return code == SQLITE_ROW;
}

bool database_run(struct database *database, sqlite3_stmt *statement, const char *doing,
		  GError **error)
{
	const int code = sqlite3_step(statement);

	if (code != SQLITE_DONE && code != SQLITE_ROW)
		database_fail(database, code, doing, error);
	sqlite3_reset(statement);
	return code == SQLITE_DONE || code == SQLITE_ROW;
}

/* The values of a row in order. */

struct database_cursor database_reading(sqlite3_stmt *statement)
{
	return (struct database_cursor){statement, 0};
}

const char *database_peek_text(struct database_cursor *cursor)
{
	return (const char *)sqlite3_column_text(cursor->statement, cursor->next++);
}

char *database_get_text(struct database_cursor *cursor)
{
	const char *text = database_peek_text(cursor);

	return text ? g_utf8_make_valid(text, -1) : NULL;
}

GBytes *database_get_bytes(struct database_cursor *cursor)
{
	const int column = cursor->next++;
	const void *data = sqlite3_column_blob(cursor->statement, column);

	return g_bytes_new(data, (gsize)sqlite3_column_bytes(cursor->statement, column));
}

int64_t database_get_integer(struct database_cursor *cursor)
{
	return sqlite3_column_int64(cursor->statement, cursor->next++);
}

uint32_t database_get_count(struct database_cursor *cursor)
{
	const int64_t value = database_get_integer(cursor);

	return value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

bool database_is_null(const struct database_cursor *cursor)
{
	return sqlite3_column_type(cursor->statement, cursor->next) == SQLITE_NULL;
}

double database_get_real(struct database_cursor *cursor)
{
	const double value = database_is_null(cursor)
				     ? (double)NAN
				     : sqlite3_column_double(cursor->statement, cursor->next);

	cursor->next++;
	return value;
}
