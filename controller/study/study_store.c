/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_store.h"

#include <errno.h>
#include <glib/gstdio.h>

#include "common/error_fail.h"
#include "common/json.h"
#include "common/read_file.h"
#include "common/sqlite/database.h"

/* How long another process may lock the file. */
#define BUSY_TIMEOUT_MS 30000

struct study_store {
	struct database *database;
	char *path;
	char *identity;
	char *config;
};

G_DEFINE_QUARK(virtbed_study_error_quark, study_error)

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS study (identity TEXT NOT NULL, config TEXT NOT NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS result ("
	" size REAL NOT NULL, value REAL NOT NULL, trial INTEGER NOT NULL, policy TEXT NOT NULL, limit_j REAL NOT NULL,"
	" utility REAL NOT NULL, utility_max REAL NOT NULL, energy_j REAL NOT NULL,"
	" ended_by TEXT NOT NULL, ended_s REAL NOT NULL, tasks_arrived INTEGER NOT NULL,"
	" tasks_completed INTEGER NOT NULL, tasks_failed INTEGER NOT NULL,"
	" tasks_dropped INTEGER NOT NULL, stretch_max REAL NOT NULL, stretch_mean REAL NOT NULL,"
	" span_s REAL NOT NULL, pauses INTEGER NOT NULL, migrations INTEGER NOT NULL,"
	" paused_memory REAL NOT NULL, moved_memory REAL NOT NULL,"
	" tasks_counted INTEGER NOT NULL, tasks_on_time INTEGER NOT NULL,"
	" type_variance REAL NOT NULL, busy_s REAL NOT NULL, cost REAL NOT NULL, PRIMARY KEY (size, value, policy, limit_j, trial)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS part (shards INTEGER NOT NULL, shard INTEGER NOT NULL, trials INTEGER NOT NULL,"
	" PRIMARY KEY (shards, shard, trials)) STRICT, WITHOUT ROWID;";

/* The columns of `result` in the order of the table. */
#define REAL(field_)                                                                               \
	{                                                                                          \
		.name = #field_, .offset = offsetof(struct study_row, result.field_),              \
		.type = RECORD_REAL                                                                \
	}
#define COUNT(field_)                                                                              \
	{                                                                                          \
		.name = #field_, .offset = offsetof(struct study_row, result.field_),              \
		.type = RECORD_U32                                                                 \
	}
static const struct record_field row_fields[] = {
	{.name = "size", .offset = offsetof(struct study_row, point.size), .type = RECORD_REAL},
	{.name = "value", .offset = offsetof(struct study_row, point.value), .type = RECORD_REAL},
	{RECORD_FIELD_U32(study_row, trial)},
	{RECORD_FIELD_TEXT(study_row, policy)},
	{RECORD_AT(study_row, limit_j), .type = RECORD_REAL},
	REAL(utility),
	REAL(utility_max),
	REAL(energy_j),
	{.name = "ended_by",
	 .offset = offsetof(struct study_row, result.ended_by),
	 .type = RECORD_WORD,
	 .words = engine_end_names},
	REAL(ended_s),
	COUNT(tasks_arrived),
	COUNT(tasks_completed),
	COUNT(tasks_failed),
	COUNT(tasks_dropped),
	REAL(stretch_max),
	REAL(stretch_mean),
	REAL(span_s),
	{.name = "pauses", .offset = offsetof(struct study_row, result.pauses), .type = RECORD_I64},
	{.name = "migrations",
	 .offset = offsetof(struct study_row, result.migrations),
	 .type = RECORD_I64},
	REAL(paused_memory),
	REAL(moved_memory),
	COUNT(tasks_counted),
	COUNT(tasks_on_time),
	REAL(type_variance),
	REAL(busy_s),
	REAL(cost),
	{NULL},
};
const struct record study_row_record = {.name = "row",
					.size = sizeof(struct study_row),
					.fields = row_fields,
					.table = "result"};

static const struct database_kind kind = {.what = "a study",
					  .reader = "this virtbed",
					  .newer = "",
					  .cure = ""};

/* Sets `error` to `code` with the text of `reason`, which is freed. Returns false. */
static bool fail(enum study_error code, GError *reason, GError **error)
{
	g_set_error_literal(error, STUDY_ERROR, code, reason->message);
	g_error_free(reason);
	return false;
}

/* Reads the identity into the store; NULL: there is none yet. */
static bool read_identity(struct study_store *store, GError **error)
{
	GError *reason = NULL;

	store->identity = database_find_text(store->database, "SELECT identity FROM study",
					     DATABASE_NO_ARGS, "read the study", &reason);
	if (!reason)
		store->config = database_find_text(store->database, "SELECT config FROM study",
						   DATABASE_NO_ARGS, "read the study", &reason);
	return !reason || fail(STUDY_ERROR_OPEN, reason, error);
}

static bool write_identity(struct study_store *store, const char *identity, const char *config,
			   GError **error)
{
	GError *reason = NULL;

	store->identity = g_strdup(identity);
	store->config = g_strdup(config);
	return database_do(store->database, "INSERT INTO study VALUES (?, ?)",
			   DATABASE_ARGS(identity, config), "store the study", &reason) ||
	       fail(STUDY_ERROR_WRITE, reason, error);
}

/* Checks that the file is a study with the expected identity. */
static bool identify(struct study_store *store, const char *identity, const char *config,
		     GError **error)
{
	GError *reason = NULL;

	if (identity && (!database_exec(store->database, "PRAGMA journal_mode = WAL",
					"set up the journal", &reason) ||
			 !database_exec(store->database, schema, "create the tables", &reason)))
		return fail(STUDY_ERROR_OPEN, reason, error);
	if (!read_identity(store, error))
		return false;
	if (!store->identity && identity)
		return write_identity(store, identity, config, error);
	if (!store->identity)
		return error_fail(error, STUDY_ERROR, STUDY_ERROR_OPEN, "%s: the study is empty",
				  store->path);
	if (!identity || g_str_equal(store->identity, identity))
		return true;
	return error_fail(error, STUDY_ERROR, STUDY_ERROR_OTHER,
			  "%s: holds another study (%s, not %s); name another directory with --out",
			  store->path, store->identity, identity);
}

struct study_store *study_store_open(const char *dir, const char *identity, const char *config,
				     GError **error)
{
	g_autoptr(study_store_t) store = g_new0(struct study_store, 1);
	GError *reason = NULL;

	store->path = g_build_filename(dir, STUDY_FILE, NULL);
	if (identity && g_mkdir_with_parents(dir, 0755) != 0)
		return error_null(error, STUDY_ERROR, STUDY_ERROR_OPEN, "%s: cannot be made: %s",
				  dir, g_strerror(errno));
	if (identity ? read_file_check_if_there(store->path, READ_FILE_ANY_SIZE, &reason)
		     : read_file_check(store->path, READ_FILE_ANY_SIZE, &reason))
		store->database = database_open(&kind, NULL, store->path,
						identity ? DATABASE_CREATE : DATABASE_WRITE,
						BUSY_TIMEOUT_MS, &reason);
	if (!store->database) {
		fail(STUDY_ERROR_OPEN, reason, error);
		return NULL;
	}
	return identify(store, identity, config, error) ? g_steal_pointer(&store) : NULL;
}

void study_store_close(struct study_store *store)
{
	if (!store)
		return;
	database_close(store->database);
	g_free(store->path);
	g_free(store->identity);
	g_free(store->config);
	g_free(store);
}

const char *study_store_identity(const struct study_store *store)
{
	return store->identity;
}

const char *study_store_config(const struct study_store *store)
{
	return store->config;
}

bool study_store_add(struct study_store *store, const struct study_row *rows, size_t count,
		     GError **error)
{
	static const char sql[] = "INSERT OR IGNORE INTO result VALUES "
				  "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
	GError *reason = NULL;
	bool good = database_begin(store->database, &reason);

	for (size_t i = 0; good && i < count; i++)
		good = database_put_by(store->database, sql, &study_row_record, &rows[i],
				       "store a result", &reason);
	if (good && database_commit(store->database, &reason))
		return true;
	database_rollback(store->database);
	return fail(STUDY_ERROR_WRITE, reason, error);
}

/* Names as a JSON array, for SQL. The caller frees. */
static char *names_text(const char *const *names, guint count)
{
	g_autoptr(json_t) list = json_array();

	for (guint i = 0; i < count; i++)
		json_array_append_new(list, json_string(names[i]));
	return json_dumps(list, 0);
}

/* Rows of the policies ?1, or all, with the best stretch of their trials among the policies ?2. */
static bool read_rows(struct study_store *store, const char *policies, const char *ranked,
		      study_row_f each, void *data, GError **error)
{
	static const char sql[] =
		"SELECT result.*, coalesce(best, 0) FROM result LEFT JOIN"
		" (SELECT size, value, trial, min(stretch_max) AS best FROM result"
		"  WHERE stretch_max > 0 AND policy IN (SELECT value FROM json_each(?2))"
		"  GROUP BY size, value, trial"
		"  HAVING count(*) >= (SELECT count(DISTINCT value) FROM json_each(?2)))"
		" USING (size, value, trial)"
		" WHERE ?1 IS NULL OR policy IN (SELECT value FROM json_each(?1))"
		" ORDER BY size, value, policy, limit_j, trial";
	sqlite3_stmt *statement;
	struct study_row row;
	GError *reason = NULL;
	int code;

	statement = database_query(store->database, sql, DATABASE_ARGS(policies, ranked), &reason);
	if (!statement)
		return fail(STUDY_ERROR_WRITE, reason, error);
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		database_read_record(statement, &study_row_record, &row);
		row.stretch_best =
			sqlite3_column_double(statement, sqlite3_column_count(statement) - 1);
		if (row.policy)
			each(&row, data);
		record_clear(&study_row_record, &row);
	}
	if (code != SQLITE_DONE)
		database_fail(store->database, code, "read the results", &reason);
	sqlite3_reset(statement);
	return !reason || fail(STUDY_ERROR_WRITE, reason, error);
}

bool study_store_each(struct study_store *store, study_row_f each, void *data, GError **error)
{
	return read_rows(store, NULL, NULL, each, data, error);
}

bool study_store_each_of(struct study_store *store, const struct config *config,
			 const char *const *policies, study_row_f each, void *data, GError **error)
{
	const struct config_experiment *experiment = config->experiment;
	g_autofree char *chosen = names_text(policies, g_strv_length((char **)policies));
	g_autofree char *ranked =
		names_text((const char *const *)experiment->policies, experiment->policies_count);

	return read_rows(store, chosen, ranked, each, data, error);
}

bool study_store_add_part(struct study_store *store, const struct study_part *part, GError **error)
{
	GError *reason = NULL;

	return database_do(store->database, "INSERT OR IGNORE INTO part VALUES (?, ?, ?)",
			   DATABASE_ARGS(part->shards, part->shard, part->trials),
			   "store the extent", &reason) ||
	       fail(STUDY_ERROR_WRITE, reason, error);
}

GArray *study_store_parts(struct study_store *store)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct study_part));
	/* NULL for a file without the table. */
	sqlite3_stmt *statement = database_query(
		store->database,
		"SELECT shards, shard, trials FROM part ORDER BY shards, shard, trials",
		DATABASE_NO_ARGS, NULL);

	while (statement && sqlite3_step(statement) == SQLITE_ROW) {
		struct database_cursor cursor = database_reading(statement);
		struct study_part part;

		part.shards = database_get_count(&cursor);
		part.shard = database_get_count(&cursor);
		part.trials = database_get_count(&cursor);
		g_array_append_val(parts, part);
	}
	if (statement)
		sqlite3_reset(statement);
	return parts;
}
