/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/record/record.h"

/*
 * SQLite for all files of the project: opening, migration from schema to schema, checks, statements
 * with their values in order, and records as rows (common/record/record.h). No other file binds or
 * reads columns.
 *
 * A database is used by one thread at a time. Errors are DATABASE_ERROR, with the path and what was
 * attempted, as "PATH: cannot store a task: the disk is full; make room".
 */
struct database;
typedef struct database database_t;

#define DATABASE_ERROR (database_error_quark())
GQuark database_error_quark(void);
enum database_error {
	DATABASE_ERROR_OPEN = 1, /* it cannot be opened, or is not a file of this kind */
	DATABASE_ERROR_SCHEMA,   /* a later version wrote it */
	DATABASE_ERROR_FULL,     /* the disk, or a quota on it, is full */
	DATABASE_ERROR_CORRUPT,  /* damaged or truncated */
	DATABASE_ERROR_SQL,      /* anything else */
};

/* A step of a migration, to a version from the one before. */
struct database_step {
	/*
	 * executed before and after the tables and columns with this `since` are made; may be NULL
	 */
	const char *before, *sql;
	/* a query whose result, 0 or 1, says whether `sql` is needed; NULL: always */
	const char *wanted;
};

/* What a kind of file is. */
struct database_kind {
	const char *noun;   /* in errors before the path in quotes, "state"; NULL: the path alone */
	const char *what;   /* in errors: "a store of virtbed" */
	const char *reader; /* in errors: "this virtbed" */
	const char *newer;  /* in errors about a later version: "; use the newer virtbed" */
	const char *cure;   /* in errors about damage: "; put a copy of it back" */
	int32_t application_id;            /* PRAGMA application_id of the file; 0: none */
	int version;                       /* of the schema that this program writes */
	const struct database_step *steps; /* version + 1 elements; [0] is not used */
	/* NULL-terminated; tables in the order in which they are made */
	const struct record *const *records;
};

/* How a file is opened. */
enum database_mode {
	/* it must be there; without write permission for its directory it is opened read-only */
	DATABASE_READ = 0,
	DATABASE_WRITE,  /* it must be there and writable */
	DATABASE_CREATE, /* it is made if it is missing */
};

/*
 * Opens the file `path` for one thread, on the disk that `vfs` names (sqlite3_vfs; NULL: SQLite's
 * default). `busy_ms`: how long it waits for locks of other
 * connections. Returns NULL with `error`.
 */
struct database *database_open(const struct database_kind *kind, const char *vfs, const char *path,
			       enum database_mode mode, int busy_ms, GError **error);
/* Rolls an open transaction back. NULL is allowed. */
void database_close(struct database *database);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(database_t, database_close)

/*
 * Reads the version of the file. `create`: an empty file has version 0; else it is an error, as is
 * a file of another kind or of a later version.
 */
bool database_identify(struct database *database, bool create, GError **error);

/*
 * Gives a file of an earlier version (0: an empty one) the tables and columns that it lacks, in one
 * transaction. Call it after database_identify().
 */
bool database_migrate(struct database *database, GError **error);

/* The version of the schema of the file. */
int database_version(const struct database *database);
/* For a second connection to a file whose version is known. */
void database_set_version(struct database *database, int version);
const char *database_path(const struct database *database);
/* SQLite's text about the last failure. */
const char *database_last_error(const struct database *database);
/* For what has no function here, such as sqlite3_changes(). */
sqlite3 *database_handle(struct database *database);
/* How long the connection waits for locks of others from now on, in milliseconds. */
void database_set_busy(struct database *database, int busy_ms);

/*
 * SQLite's check by `sql` (NULL: of the whole file); false with `error`: damaged, or the check
 * failed.
 */
bool database_check(struct database *database, const char *sql, GError **error);

/*
 * Sets `error` from the result code `code` of the last call; `doing` is what was attempted, as
 * "store a task". Returns false.
 */
bool database_fail(struct database *database, int code, const char *doing, GError **error);

/* Executes SQL text without rows. */
bool database_exec(struct database *database, const char *sql, const char *doing, GError **error);
/* BEGIN IMMEDIATE, COMMIT, ROLLBACK. A commit that fails is rolled back. */
bool database_begin(struct database *database, GError **error);
bool database_commit(struct database *database, GError **error);
void database_rollback(struct database *database);
bool database_is_begun(const struct database *database);
/* Whether the transaction is still open; false with `error`: an earlier failure undid it. */
bool database_check_begun(const struct database *database, GError **error);

/* A value of a statement. */
struct database_value {
	enum { DATABASE_TEXT, DATABASE_INTEGER, DATABASE_REAL } type;
	union {
		const char *text; /* NULL is NULL; it must stay valid until the statement has run */
		int64_t integer;
		double real; /* NAN is NULL */
	};
};
struct database_value database_text(const char *value);
struct database_value database_integer(int64_t value);
struct database_value database_real(double value);

/*
 * The arguments of a statement, in order: one to six texts, whole numbers and real numbers, as
 * DATABASE_ARGS(run, host, 1.5).
 */
#define DATABASE_ARGS(...)                                                                         \
	DATABASE_ARRAY_(DATABASE_PICK_(__VA_ARGS__, DATABASE_6_, DATABASE_5_, DATABASE_4_,         \
				       DATABASE_3_, DATABASE_2_, DATABASE_1_, )(__VA_ARGS__))
#define DATABASE_NO_ARGS NULL, 0
#define DATABASE_ARRAY_(...)                                                                       \
	(const struct database_value[]){__VA_ARGS__},                                              \
		sizeof((const struct database_value[]){__VA_ARGS__}) /                             \
			sizeof(struct database_value)
#define DATABASE_PICK_(a_, b_, c_, d_, e_, f_, picked_, ...) picked_
#define DATABASE_1_(a_)                                                                            \
	_Generic((a_), char *: database_text, const char *: database_text, double: database_real,   \
		 default: database_integer)(a_)
#define DATABASE_2_(a_, ...) DATABASE_1_(a_), DATABASE_1_(__VA_ARGS__)
#define DATABASE_3_(a_, ...) DATABASE_1_(a_), DATABASE_2_(__VA_ARGS__)
#define DATABASE_4_(a_, ...) DATABASE_1_(a_), DATABASE_3_(__VA_ARGS__)
#define DATABASE_5_(a_, ...) DATABASE_1_(a_), DATABASE_4_(__VA_ARGS__)
#define DATABASE_6_(a_, ...) DATABASE_1_(a_), DATABASE_5_(__VA_ARGS__)

/*
 * A statement with its arguments, to be stepped through and reset. `sql` is a text that lives as
 * long as the database: it is prepared once, by its address. Borrowed. NULL with `error`.
 */
sqlite3_stmt *database_query(struct database *database, const char *sql,
			     const struct database_value *arguments, size_t count, GError **error);

/* Executes a statement that returns no rows. `doing` as "store a task". */
bool database_do(struct database *database, const char *sql, const struct database_value *arguments,
		 size_t count, const char *doing, GError **error);

/*
 * The text in the first column of the first row, which the caller frees, or NULL: there is none, or
 * with `error` a failure.
 */
char *database_find_text(struct database *database, const char *sql,
			 const struct database_value *arguments, size_t count, const char *doing,
			 GError **error);

/* Sets *ret_value from the first column of the first row; NULL is 0. False with `error`. */
bool database_find_integer(struct database *database, const char *sql,
			   const struct database_value *arguments, size_t count, int64_t *ret_value,
			   const char *doing, GError **error);

/* The values of a row in the order of the columns: the cursor counts them. */
struct database_cursor {
	sqlite3_stmt *statement;
	int next;
};
struct database_cursor database_reading(sqlite3_stmt *statement);
/* Borrowed until the next step. */
const char *database_peek_text(struct database_cursor *cursor);
/* Valid UTF-8, since it goes into JSON and onto terminals; the caller frees. */
char *database_get_text(struct database_cursor *cursor);
/* The bytes of a blob, or of a text; the caller frees. */
GBytes *database_get_bytes(struct database_cursor *cursor);
int64_t database_get_integer(struct database_cursor *cursor);
/* A value that is no count becomes UINT32_MAX. */
uint32_t database_get_count(struct database_cursor *cursor);
double database_get_real(struct database_cursor *cursor);
bool database_is_null(const struct database_cursor *cursor);

/* Inserts a row, or replaces the one with the same key. `doing` as "store a task". O(log rows). */
bool database_put(struct database *database, const struct record *record, const void *data,
		  const char *doing, GError **error);
/* As database_put(), and sets *ret_rowid (may be NULL); a row with the same key is an error. */
bool database_add(struct database *database, const struct record *record, const void *data,
		  int64_t *ret_rowid, const char *doing, GError **error);
/*
 * Writes all columns of the row with the same key; no error if there is none. Other than
 * database_put() it leaves the row's key alone, so rows of other tables that refer to it are not
 * visited. O(log rows).
 */
bool database_update(struct database *database, const struct record *record, const void *data,
		     const char *doing, GError **error);
/*
 * Executes `sql`, such as an INSERT with a condition, with all columns of `record` in order as its
 * arguments.
 */
bool database_put_by(struct database *database, const char *sql, const struct record *record,
		     const void *data, const char *doing, GError **error);
/*
 * The rows of `record`'s table that fulfil `rest`, such as "WHERE run = ? ORDER BY task", a text
 * that lives as long as the database, with its arguments (DATABASE_ARGS(run, task)): GPtrArray of
 * structures, each freed by record->free. Columns of a later version than the file's are null; a
 * file without the table has no rows. NULL with `error`.
 */
GPtrArray *database_list(struct database *database, const struct record *record, const char *rest,
			 const struct database_value *arguments, size_t count, const char *doing,
			 GError **error);
/*
 * As database_list(), for a whole SELECT with the columns of `record` in order, a text as for
 * database_query().
 */
GPtrArray *database_list_by(struct database *database, const char *sql, const struct record *record,
			    const struct database_value *arguments, size_t count, const char *doing,
			    GError **error);
/*
 * The present row of a statement whose columns are those of `record` in order; `data` is
 * uninitialised.
 */
void database_read_record(sqlite3_stmt *statement, const struct record *record, void *data);
/*
 * As database_list(), for one row; NULL without `error`: there is none. The caller frees with
 * record_free().
 */
void *database_get(struct database *database, const struct record *record, const char *rest,
		   const struct database_value *arguments, size_t count, const char *doing,
		   GError **error);
