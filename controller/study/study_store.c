/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/study/study_store.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sqlite3.h>

#include "common/read_file.h"

/* How long another process may lock the file. */
#define BUSY_TIMEOUT_MS 30000

struct study_store {
	sqlite3 *db;
	char *path;
	char *identity;
	char *config;
};

G_DEFINE_QUARK(virtbed-study-error-quark, study_error)

static const char schema[] =
	"PRAGMA journal_mode = WAL;"
	"CREATE TABLE IF NOT EXISTS study (identity TEXT NOT NULL, config TEXT NOT NULL) STRICT;"
	"CREATE TABLE IF NOT EXISTS result ("
	" size REAL NOT NULL, value REAL NOT NULL, trial INTEGER NOT NULL, policy TEXT NOT NULL,"
	" limit_j REAL NOT NULL,"
	" utility REAL NOT NULL, utility_max REAL NOT NULL, energy_j REAL NOT NULL,"
	" ended_by TEXT NOT NULL, ended_s REAL NOT NULL, tasks_arrived INTEGER NOT NULL,"
	" tasks_completed INTEGER NOT NULL, tasks_failed INTEGER NOT NULL,"
	" tasks_dropped INTEGER NOT NULL, stretch_max REAL NOT NULL, stretch_mean REAL NOT NULL,"
	" span_s REAL NOT NULL, pauses INTEGER NOT NULL, migrations INTEGER NOT NULL,"
	" paused_memory REAL NOT NULL, moved_memory REAL NOT NULL,"
	" tasks_counted INTEGER NOT NULL, tasks_on_time INTEGER NOT NULL,"
	" type_variance REAL NOT NULL, busy_s REAL NOT NULL, cost REAL NOT NULL,"
	" PRIMARY KEY (size, value, policy, limit_j, trial)"
	") STRICT, WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS part (shards INTEGER NOT NULL, shard INTEGER NOT NULL,"
	" trials INTEGER NOT NULL,"
	" PRIMARY KEY (shards, shard, trials)) STRICT, WITHOUT ROWID;";

static bool fail_sqlite(const struct study_store *store, enum study_error code, GError **error)
{
	g_set_error(error, STUDY_ERROR, code, "%s: %s", store->path,
		    store->db ? sqlite3_errmsg(store->db) : "out of memory");
	return false;
}

/* Reads the identity into the store; NULL: there is none yet. */
static bool read_identity(struct study_store *store, GError **error)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, "SELECT identity, config FROM study", -1,
				      &statement, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
		if (code == SQLITE_ROW) {
			store->identity =
				g_strdup((const char *)sqlite3_column_text(statement, 0));
			store->config =
				g_strdup((const char *)sqlite3_column_text(statement, 1));
		}
	}
	sqlite3_finalize(statement);
	return code == SQLITE_ROW || code == SQLITE_DONE || fail_sqlite(store, STUDY_ERROR_OPEN,
									error);
}

static bool write_identity(struct study_store *store, const char *identity, const char *config,
			   GError **error)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(store->db, "INSERT INTO study VALUES (?,?)", -1, &statement,
				      NULL);

	if (code == SQLITE_OK) {
		sqlite3_bind_text(statement, 1, identity, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(statement, 2, config, -1, SQLITE_TRANSIENT);
		code = sqlite3_step(statement);
	}
	sqlite3_finalize(statement);
	store->identity = g_strdup(identity);
	store->config = g_strdup(config);
	return code == SQLITE_DONE || fail_sqlite(store, STUDY_ERROR_WRITE, error);
}

/* Checks that the file is a study with the expected identity. */
static bool identify(struct study_store *store, const char *identity, const char *config,
		     GError **error)
{
	if (identity && sqlite3_exec(store->db, schema, NULL, NULL, NULL) != SQLITE_OK)
		return fail_sqlite(store, STUDY_ERROR_OPEN, error);
	if (!read_identity(store, error))
		return false;
	if (!store->identity && identity)
		return write_identity(store, identity, config, error);
	if (!store->identity) {
		g_set_error(error, STUDY_ERROR, STUDY_ERROR_OPEN, "%s: the study is empty",
			    store->path);
		return false;
	}
	if (!identity || g_str_equal(store->identity, identity))
		return true;
	g_set_error(error, STUDY_ERROR, STUDY_ERROR_OTHER,
		    "%s: holds another study (%s, not %s); name another directory with --out",
		    store->path, store->identity, identity);
	return false;
}

struct study_store *study_store_open(const char *dir, const char *identity, const char *config,
				     GError **error)
{
	g_autoptr(study_store_t) store = g_new0(struct study_store, 1);
	g_autoptr(GError) reason = NULL;
	int flags = SQLITE_OPEN_READWRITE;

	store->path = g_build_filename(dir, STUDY_FILE, NULL);
	if (identity) {
		flags |= SQLITE_OPEN_CREATE;
		if (g_mkdir_with_parents(dir, 0755) != 0) {
			g_set_error(error, STUDY_ERROR, STUDY_ERROR_OPEN, "%s: cannot be made: %s",
				    dir, g_strerror(errno));
			return NULL;
		}
	}
	if (identity ? !read_file_check_if_there(store->path, READ_FILE_ANY_SIZE, &reason)
		     : !read_file_check(store->path, READ_FILE_ANY_SIZE, &reason)) {
		g_set_error_literal(error, STUDY_ERROR, STUDY_ERROR_OPEN, reason->message);
		return NULL;
	}
	if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK) {
		fail_sqlite(store, STUDY_ERROR_OPEN, error);
		return NULL;
	}
	sqlite3_busy_timeout(store->db, BUSY_TIMEOUT_MS);
	return identify(store, identity, config, error) ? g_steal_pointer(&store) : NULL;
}

void study_store_close(struct study_store *store)
{
	if (!store)
		return;
	sqlite3_close(store->db);
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

static int add_row(sqlite3_stmt *statement, const struct study_row *row)
{
	const struct engine_result *result = &row->result;

	sqlite3_bind_double(statement, 1, row->point.size);
	sqlite3_bind_double(statement, 2, row->point.value);
	sqlite3_bind_int64(statement, 3, row->trial);
	sqlite3_bind_text(statement, 4, row->policy, -1, SQLITE_TRANSIENT);
	sqlite3_bind_double(statement, 5, row->limit_j);
	sqlite3_bind_double(statement, 6, result->utility);
	sqlite3_bind_double(statement, 7, result->utility_max);
	sqlite3_bind_double(statement, 8, result->energy_j);
	sqlite3_bind_text(statement, 9, engine_end_name(result->ended_by), -1, SQLITE_STATIC);
	sqlite3_bind_double(statement, 10, result->ended_s);
	sqlite3_bind_int64(statement, 11, result->tasks_arrived);
	sqlite3_bind_int64(statement, 12, result->tasks_completed);
	sqlite3_bind_int64(statement, 13, result->tasks_failed);
	sqlite3_bind_int64(statement, 14, result->tasks_dropped);
	sqlite3_bind_double(statement, 15, result->stretch_max);
	sqlite3_bind_double(statement, 16, result->stretch_mean);
	sqlite3_bind_double(statement, 17, result->span_s);
	sqlite3_bind_int64(statement, 18, (sqlite3_int64)result->pauses);
	sqlite3_bind_int64(statement, 19, (sqlite3_int64)result->migrations);
	sqlite3_bind_double(statement, 20, result->paused_memory);
	sqlite3_bind_double(statement, 21, result->moved_memory);
	sqlite3_bind_int64(statement, 22, result->tasks_counted);
	sqlite3_bind_int64(statement, 23, result->tasks_on_time);
	sqlite3_bind_double(statement, 24, result->type_variance);
	sqlite3_bind_double(statement, 25, result->busy_s);
	sqlite3_bind_double(statement, 26, result->cost);

	const int code = sqlite3_step(statement);

	sqlite3_reset(statement);
	return code;
}

bool study_store_add(struct study_store *store, const struct study_row *rows, size_t count,
		     GError **error)
{
	static const char sql[] = "INSERT OR IGNORE INTO result VALUES "
				  "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
	sqlite3_stmt *statement = NULL;
	bool good = sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
		    sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK;

	for (size_t i = 0; good && i < count; i++)
		good = add_row(statement, &rows[i]) == SQLITE_DONE;
	sqlite3_finalize(statement);
	if (good && sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return true;
	fail_sqlite(store, STUDY_ERROR_WRITE, error);
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return false;
}

static enum engine_end end_parse(const char *name)
{
	for (int end = ENGINE_END_LIMIT; end <= ENGINE_END_ABORTED; end++)
		if (g_strcmp0(engine_end_name((enum engine_end)end), name) == 0)
			return (enum engine_end)end;
	return ENGINE_END_NONE;
}

static void read_row(sqlite3_stmt *statement, struct study_row *ret_row)
{
	*ret_row = (struct study_row){
		.point.size = sqlite3_column_double(statement, 0),
		.point.value = sqlite3_column_double(statement, 1),
		.trial = (uint32_t)sqlite3_column_int64(statement, 2),
		.policy = (const char *)sqlite3_column_text(statement, 3),
		.limit_j = sqlite3_column_double(statement, 4),
		.result = {
			.utility = sqlite3_column_double(statement, 5),
			.utility_max = sqlite3_column_double(statement, 6),
			.energy_j = sqlite3_column_double(statement, 7),
			.ended_by = end_parse((const char *)sqlite3_column_text(statement, 8)),
			.ended_s = sqlite3_column_double(statement, 9),
			.tasks_arrived = (uint32_t)sqlite3_column_int64(statement, 10),
			.tasks_completed = (uint32_t)sqlite3_column_int64(statement, 11),
			.tasks_failed = (uint32_t)sqlite3_column_int64(statement, 12),
			.tasks_dropped = (uint32_t)sqlite3_column_int64(statement, 13),
			.stretch_max = sqlite3_column_double(statement, 14),
			.stretch_mean = sqlite3_column_double(statement, 15),
			.span_s = sqlite3_column_double(statement, 16),
			.pauses = (uint64_t)sqlite3_column_int64(statement, 17),
			.migrations = (uint64_t)sqlite3_column_int64(statement, 18),
			.paused_memory = sqlite3_column_double(statement, 19),
			.moved_memory = sqlite3_column_double(statement, 20),
			.tasks_counted = (uint32_t)sqlite3_column_int64(statement, 21),
			.tasks_on_time = (uint32_t)sqlite3_column_int64(statement, 22),
			.type_variance = sqlite3_column_double(statement, 23),
			.busy_s = sqlite3_column_double(statement, 24),
			.cost = sqlite3_column_double(statement, 25),
		},
	};
}

bool study_store_each(struct study_store *store, study_row_f each, void *data, GError **error)
{
	sqlite3_stmt *statement = NULL;
	struct study_row row;
	int code = sqlite3_prepare_v2(store->db,
				      "SELECT * FROM result "
				      "ORDER BY size, value, policy, limit_j, trial",
				      -1, &statement, NULL);

	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(statement);
		if (code != SQLITE_ROW)
			break;
		read_row(statement, &row);
		if (row.policy)
			each(&row, data);
	}
	sqlite3_finalize(statement);
	return code == SQLITE_DONE || fail_sqlite(store, STUDY_ERROR_WRITE, error);
}

/* Passes the rows of the chosen policies on. */
struct choice {
	const char *const *policies;
	study_row_f each;
	void *data;
};

static void choose(const struct study_row *row, void *data)
{
	const struct choice *choice = data;

	if (g_strv_contains(choice->policies, row->policy))
		choice->each(row, choice->data);
}

bool study_store_each_of(struct study_store *store, const char *const *policies, study_row_f each,
			 void *data, GError **error)
{
	struct choice choice = { policies, each, data };

	return study_store_each(store, choose, &choice, error);
}

bool study_store_add_part(struct study_store *store, const struct study_part *part, GError **error)
{
	g_autofree char *sql = g_strdup_printf("INSERT OR IGNORE INTO part VALUES (%u, %u, %u)",
					       part->shards, part->shard, part->trials);

	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       fail_sqlite(store, STUDY_ERROR_WRITE, error);
}

GArray *study_store_parts(struct study_store *store)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct study_part));
	sqlite3_stmt *statement = NULL;

	/* Fails for a file without the table. */
	if (sqlite3_prepare_v2(
		    store->db,
		    "SELECT shards, shard, trials FROM part ORDER BY shards, shard, trials", -1,
		    &statement, NULL) != SQLITE_OK)
		return parts;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		const struct study_part part = {
			.shards = (uint32_t)sqlite3_column_int64(statement, 0),
			.shard = (uint32_t)sqlite3_column_int64(statement, 1),
			.trials = (uint32_t)sqlite3_column_int64(statement, 2),
		};

		g_array_append_val(parts, part);
	}
	sqlite3_finalize(statement);
	return parts;
}
