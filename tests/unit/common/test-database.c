/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/sqlite/database.h"

#include <glib/gstdio.h>
#include <string.h>

struct run {
	int64_t run;
	char *policy;
	double energy_j;
};

struct where {
	uint32_t node;
	double at_s;
};

enum keep { MEMORY, DISK };

struct task {
	int64_t run;
	uint32_t task;
	bool held;
	char *type;
	struct where where;
	enum keep keep;
	int64_t priority;
	char *user; /* since version 3 */
};

static void run_free(void *run);
static void task_free(void *task);

static const struct record_field run_fields[] = {
	{RECORD_FIELD_I64(run, run), .flags = RECORD_KEY},
	{RECORD_FIELD_TEXT(run, policy)},
	{RECORD_FIELD_REAL(run, energy_j)},
	{NULL},
};
static const struct record run_record = {.name = "run",
					 .size = sizeof(struct run),
					 .fields = run_fields,
					 .free = run_free,
					 .table = "run",
					 .since = 1,
					 .rowid = true};

static const struct record_field where_fields[] = {
	{RECORD_FIELD_U32(where, node)},
	{RECORD_FIELD_REAL(where, at_s)},
	{NULL},
};
static const struct record where_record = {.name = "where",
					   .size = sizeof(struct where),
					   .fields = where_fields};

static const char *const keeps[] = {"memory", "disk", NULL};
static const struct record_field task_fields[] = {
	{RECORD_FIELD_I64(task, run), .flags = RECORD_KEY, .references = "run"},
	{RECORD_FIELD_U32(task, task), .flags = RECORD_KEY},
	{RECORD_FIELD_BOOL(task, held)},
	{RECORD_FIELD_TEXT(task, type), .null = RECORD_NULL_POINTER},
	{RECORD_AT(task, where), .type = RECORD_STRUCT, .of = &where_record},
	{RECORD_FIELD_WORD(task, keep, keeps)},
	{RECORD_FIELD_I64(task, priority), .since = 3, .sql_default = "0"},
	{RECORD_FIELD_TEXT(task, user), .null = RECORD_NULL_POINTER, .since = 3},
	{NULL},
};
static const struct record task_record = {.name = "task",
					  .size = sizeof(struct task),
					  .fields = task_fields,
					  .free = task_free,
					  .table = "task",
					  .since = 2};

static void run_free(void *run)
{
	record_free(&run_record, run);
}

static void task_free(void *task)
{
	record_free(&task_record, task);
}

static const struct record *const records[] = {&run_record, &task_record, NULL};
static const struct database_step steps[] = {
	[1] = {NULL, "CREATE INDEX run_of ON run (policy);", NULL},
	[2] = {NULL, NULL, NULL},
	[3] = {NULL, "UPDATE task SET user = 'root' WHERE type = 'EP';", NULL},
};
static struct database_kind kind(int version)
{
	return (struct database_kind){.what = "a file of the test",
				      .reader = "this test",
				      .newer = "; use the newer test",
				      .cure = "; put a copy of it back",
				      .application_id = 77,
				      .version = version,
				      .steps = steps,
				      .records = records};
}

static char *directory;

static char *path_of(const char *name)
{
	return g_build_filename(directory, name, NULL);
}

/* Opens the file as a program of `version` would. */
static struct database *open_as(struct database_kind *ret_kind, const char *name, int version,
				GError **error)
{
	g_autofree char *path = path_of(name);
	struct database *database;

	*ret_kind = kind(version);
	database = database_open(ret_kind, NULL, path, DATABASE_CREATE, 100, error);
	if (database && database_identify(database, true, error) &&
	    database_migrate(database, error))
		return database;
	database_close(database);
	return NULL;
}

static char *schema_of(struct database *database, const char *table)
{
	g_autofree char *sql =
		g_strdup_printf("SELECT sql FROM sqlite_master WHERE name = '%s'", table);
	sqlite3_stmt *statement = NULL;
	char *text = NULL;

	sqlite3_prepare_v2(database_handle(database), sql, -1, &statement, NULL);
	if (sqlite3_step(statement) == SQLITE_ROW)
		text = g_strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return text;
}

#define BY_TASK "WHERE run = ? ORDER BY task"

static const struct task example = {.run = 1,
				    .task = 4,
				    .held = true,
				    .type = (char *)"EP",
				    .where = {.node = 2, .at_s = 1.5},
				    .keep = DISK,
				    .priority = -3,
				    .user = (char *)"a"};

static void test_rows(void)
{
	g_autoptr(GError) error = NULL;
	struct database_kind present;
	g_autoptr(database_t) database = open_as(&present, "rows", 3, &error);
	g_autofree char *schema = NULL;
	g_autoptr(GPtrArray) rows = NULL;
	g_autoptr(GPtrArray) runs = NULL;
	struct task second = {.run = 1, .task = 2, .where = {.at_s = (double)NAN}};
	struct run run = {.policy = (char *)"fcfs", .energy_j = 3};
	struct task *found;

	g_assert_no_error(error);
	schema = schema_of(database, "task");
	g_assert_cmpstr(
		schema, ==,
		"CREATE TABLE task ( run INTEGER NOT NULL REFERENCES run, task INTEGER NOT NULL,"
		" held INTEGER NOT NULL, type TEXT, node INTEGER NOT NULL, at_s REAL,"
		" keep TEXT NOT NULL, priority INTEGER NOT NULL DEFAULT 0, user TEXT,"
		" PRIMARY KEY (run, task)) WITHOUT ROWID");
	g_assert_true(database_add(database, &run_record, &run, &run.run, "add a run", &error));
	g_assert_cmpint(run.run, ==, 1);
	g_assert_true(database_put(database, &task_record, &example, "store a task", &error));
	g_assert_true(database_put(database, &task_record, &second, "store a task", &error));
	g_assert_true(database_put(database, &task_record, &second, "store a task", &error));
	run.policy = (char *)"easy";
	g_assert_true(database_update(database, &run_record, &run, "update a run", &error));
	runs = database_list(database, &run_record, "ORDER BY run", DATABASE_NO_ARGS, "read runs",
			     &error);
	g_assert_cmpuint(runs->len, ==, 1);
	g_assert_true(record_equal(&run_record, runs->pdata[0], &run));
	run.run = 7;
	g_assert_true(database_update(database, &run_record, &run, "update a run", &error));
	rows = database_list(database, &task_record, BY_TASK, DATABASE_ARGS(1), "read tasks",
			     &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rows->len, ==, 2);
	g_assert_true(record_equal(&task_record, rows->pdata[0], &second));
	g_assert_true(record_equal(&task_record, rows->pdata[1], &example));
	found = database_get(database, &task_record, "WHERE task = ?", DATABASE_ARGS(4),
			     "read a task", &error);
	g_assert_true(record_equal(&task_record, found, &example));
	task_free(found);
	g_assert_null(database_get(database, &task_record, "WHERE task = ?", DATABASE_ARGS(5),
				   "read a task", &error));
	g_assert_no_error(error);
	g_assert_false(database_add(database, &task_record, &example, NULL, "add a task", &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	g_assert_nonnull(
		strstr(error->message, "rows: cannot add a task: UNIQUE constraint failed"));
}

static void test_migration(void)
{
	g_autoptr(GError) error = NULL;
	struct database_kind first;
	struct database_kind second;
	struct database_kind third;
	struct database *database = open_as(&first, "old", 1, &error);
	g_autoptr(GPtrArray) none = NULL;
	g_autoptr(GPtrArray) rows = NULL;

	g_assert_no_error(error);
	none = database_list(database, &task_record, BY_TASK, DATABASE_ARGS(1), "read tasks",
			     &error);
	g_assert_cmpuint(none->len, ==, 0);
	g_assert_cmpint(database_version(database), ==, 1);
	database_close(database);
	database = open_as(&second, "old", 2, &error);
	g_assert_no_error(error);
	g_assert_true(database_exec(database,
				    "INSERT INTO run VALUES (1, 'x', 1);"
				    "INSERT INTO task VALUES (1, 1, 0, 'EP', 0, NULL, 'disk')",
				    "write", &error));
	rows = database_list(database, &task_record, BY_TASK, DATABASE_ARGS(1), "read tasks",
			     &error);
	g_assert_null(((struct task *)rows->pdata[0])->user);
	database_close(database);
	g_clear_pointer(&rows, g_ptr_array_unref);
	database = open_as(&third, "old", 3, &error);
	g_assert_no_error(error);
	rows = database_list(database, &task_record, BY_TASK, DATABASE_ARGS(1), "read tasks",
			     &error);
	g_assert_cmpstr(((struct task *)rows->pdata[0])->user, ==, "root");
	database_close(database);
	g_assert_null(open_as(&second, "old", 2, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SCHEMA);
	g_assert_nonnull(strstr(error->message,
				"written with schema 3, this test knows 2; use the newer test"));
}

static void test_transactions(void)
{
	g_autoptr(GError) error = NULL;
	struct database_kind present;
	g_autoptr(database_t) database = open_as(&present, "transactions", 3, &error);
	const struct run run = {.policy = (char *)"fcfs"};
	g_autoptr(GPtrArray) rows = NULL;

	g_assert_true(database_begin(database, &error));
	g_assert_true(database_add(database, &run_record, &run, NULL, "add a run", &error));
	database_rollback(database);
	g_assert_false(database_commit(database, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	g_clear_error(&error);
	g_assert_true(database_begin(database, &error));
	g_assert_true(database_add(database, &run_record, &run, NULL, "add a run", &error));
	g_assert_true(database_commit(database, &error));
	rows = database_list(database, &run_record, "ORDER BY run", DATABASE_NO_ARGS, "read runs",
			     &error);
	g_assert_cmpuint(rows->len, ==, 1);
}

static void test_full(void)
{
	g_autoptr(GError) error = NULL;
	struct database_kind present;
	g_autoptr(database_t) database = open_as(&present, "full", 3, &error);
	g_autofree char *large = g_strnfill(100000, 'x');
	const struct run run = {.policy = large};

	g_assert_true(
		database_exec(database, "PRAGMA max_page_count = 10", "limit the file", &error));
	g_assert_false(database_add(database, &run_record, &run, NULL, "add a run", &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_FULL);
	g_assert_nonnull(
		strstr(error->message, "full: cannot add a run: the disk is full; make room"));
}

static void test_damage(void)
{
	g_autoptr(GError) error = NULL;
	struct database_kind present;
	g_autofree char *path = path_of("damaged");
	struct database *database = open_as(&present, "damaged", 3, &error);
	g_autofree char *bytes = NULL;
	gsize length;

	g_assert_true(database_check(database, NULL, &error));
	database_close(database);
	g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
	memset(bytes + 4096, 7, 4096);
	g_assert_true(g_file_set_contents(path, bytes, (gssize)length, NULL));
	database = database_open(&present, NULL, path, DATABASE_READ, 100, &error);
	g_assert_no_error(error);
	g_assert_false(database_check(database, NULL, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_CORRUPT);
	g_assert_true(g_str_has_suffix(error->message, "; put a copy of it back"));
	database_close(database);
	g_clear_error(&error);
	g_assert_true(g_file_set_contents(
		path,
		"This is no database, but it is longer than the header that each database begins with, and "
		"SQLite reads it.",
		-1, NULL));
	g_assert_null(database_open(&present, NULL, path, DATABASE_READ, 100, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_OPEN);
	g_assert_true(g_str_has_suffix(error->message, "not a file of the test"));
}

static void test_others(void)
{
	g_autoptr(GError) error = NULL;
	struct database_kind present = kind(3);
	g_autofree char *path = path_of("other");
	struct database *database =
		database_open(&present, NULL, path, DATABASE_CREATE, 100, &error);

	g_assert_true(database_exec(database, "CREATE TABLE x (y)", "write", &error));
	g_assert_false(database_identify(database, true, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_OPEN);
	database_close(database);
	g_clear_error(&error);
	g_free(path);
	path = path_of("missing");
	g_assert_null(database_open(&present, NULL, path, DATABASE_READ, 100, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_OPEN);
}

static void remove_files(void)
{
	g_autoptr(GDir) entries = g_dir_open(directory, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(entries))) {
		g_autofree char *path = path_of(name);

		g_unlink(path);
	}
}

int main(int argc, char **argv)
{
	int status;

	g_test_init(&argc, &argv, NULL);
	directory = g_dir_make_tmp("virtbed-XXXXXX", NULL);
	g_test_add_func("/database/rows", test_rows);
	g_test_add_func("/database/migration", test_migration);
	g_test_add_func("/database/transactions", test_transactions);
	g_test_add_func("/database/full", test_full);
	g_test_add_func("/database/damage", test_damage);
	g_test_add_func("/database/others", test_others);
	status = g_test_run();
	remove_files();
	g_rmdir(directory);
	g_free(directory);
	return status;
}
