/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stores of every earlier version: old/N.sql is one as version N made it, from the text of its
 * schema at that time, with a row or two in each table; 1-early is version 1 before samples were
 * keyed by time. All have run 1 and in it task 7.
 *
 * A new version leaves one of its predecessor there, made before STORE_SCHEMA_VERSION is raised:
 *
 *   G_TEST_SRCDIR=tests/unit/store build/tests/unit/store/test-store-old make \
 *           tests/unit/store/old/VERSION.sql    # the version before it is raised
 *
 * That is the last file of olds[] as store_open() completes it; rows of tables and values of columns
 * that are new in it are added by hand. Its name is a row of olds[], and assert_all() says what it
 * has.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "controller/store/store_account.h"
#include "controller/store/store_private.h"
#include "controller/store/store_profile.h"
#include "controller/store/store_service.h"
#include "tests/unit/store/each_decision.h"

#define RUN 1
#define TASK 7

/* What a version is: the number, and the file of it. */
struct old {
	int version;
	const char *name;
};

static const struct old olds[] = {
	{1, "1-early"}, {1, "1"}, {2, "2"}, {3, "3"},   {4, "4"},   {5, "5"},   {6, "6"},
	{7, "7"},       {8, "8"}, {9, "9"}, {10, "10"}, {11, "11"}, {12, "12"},
};

/* The last version whose policies of Pair have their former names. */
#define BEFORE_PAIR (&olds[9])

struct fixture {
	char *dir;
	struct store *store;
};

static void set_up(struct fixture *fixture, const void *data)
{
	const struct old *old = data;
	g_autofree char *name = g_strconcat(old->name, ".sql", NULL);
	g_autofree char *sql_path = g_test_build_filename(G_TEST_DIST, "old", name, NULL);
	g_autofree char *path = NULL;
	g_autofree char *sql = NULL;
	g_autoptr(GError) error = NULL;
	sqlite3 *db = NULL;

	fixture->dir = g_dir_make_tmp("virtbed-store-XXXXXX", &error);
	g_assert_no_error(error);
	path = g_build_filename(fixture->dir, STORE_FILE, NULL);
	g_file_get_contents(sql_path, &sql, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}

static void remove_files(const char *dir)
{
	static const char *const files[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};

	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(dir);
}

static void tear_down(struct fixture *fixture, const void *data)
{
	store_close(fixture->store);
	remove_files(fixture->dir);
	g_free(fixture->dir);
}

static struct store *open_store(struct fixture *fixture, bool create)
{
	g_autoptr(GError) error = NULL;

	g_clear_pointer(&fixture->store, store_close);
	fixture->store = store_open(fixture->dir, create, &error);
	g_assert_no_error(error);
	return fixture->store;
}

static void assert_last_input(struct store *store, uint32_t n)
{
	uint32_t last;

	g_assert_true(store_last_input(store, RUN, &last, NULL));
	g_assert_cmpuint(last, ==, n);
}

static void assert_rows(GPtrArray *rows, guint count)
{
	g_assert_nonnull(rows);
	g_assert_cmpuint(rows->len, ==, count);
	g_ptr_array_unref(rows);
}

static bool count_decision(double time_s, const char *snapshot, const char *actions, void *data)
{
	g_assert_cmpstr(snapshot, ==, "{\"now_s\":1.5}");
	++*(guint *)data;
	return true;
}

static void assert_task(struct store *store)
{
	g_autoptr(GPtrArray) rows = store_tasks(store, RUN, NULL);
	const struct store_task *task = g_ptr_array_index(rows, 0);

	g_assert_cmpuint(rows->len, ==, 1);
	g_assert_cmpuint(task->task, ==, TASK);
	g_assert_cmpstr(task->state, ==, "completed");
	g_assert_cmpstr(task->nodes, ==, "0,1");
	g_assert_cmpfloat(task->exec_s, ==, 7);
	g_assert_cmpuint(task->queued_n, ==, 0);
	g_assert_true(isnan(task->deadline_s));
}

static void assert_submission(struct store *store, int version)
{
	g_autoptr(GPtrArray) rows = store_submissions(store, RUN, NULL);
	const struct store_submission *one;

	g_assert_cmpuint(rows->len, ==, version >= 5);
	if (version < 5)
		return;
	one = g_ptr_array_index(rows, 0);
	g_assert_cmpstr(one->name, ==, "night");
	g_assert_cmpint(one->priority, ==, version >= 7 ? -3 : 0);
	g_assert_cmpint(one->asked_held, ==, version >= 10 ? 1 : -1);
	g_assert_cmpstr(one->script_sha256, ==, version >= 10 ? "ab12" : NULL);
}

static void assert_meter(struct store *store, int version)
{
	g_autoptr(GPtrArray) rows = store_account_meters(store, RUN, NULL);
	const struct store_account_meter *one;

	g_assert_cmpuint(rows->len, ==, version >= 6);
	if (version < 6)
		return;
	one = g_ptr_array_index(rows, 0);
	g_assert_cmpint(one->at_uj, ==, 77);
	g_assert_cmpstr(one->counter, ==, version >= 8 ? "first" : NULL);
}

/* Version 11 had no sums of requests. */
static void assert_input(struct store *store, int version)
{
	g_autoptr(GPtrArray) rows = store_inputs_after(store, RUN, 0, 10, NULL);
	const struct store_input *one;

	assert_last_input(store, version >= 11 ? 3 : 0);
	g_assert_cmpuint(rows->len, ==, version >= 11);
	if (version < 11)
		return;
	one = g_ptr_array_index(rows, 0);
	g_assert_cmpstr(one->kind, ==, "ended");
	g_assert_cmpint(one->plan_sum, ==, -2);
	g_assert_cmpint(one->request_sum, ==, version >= 12 ? 18 : -1);
}

/* Full states were texts in version 12. */
static void assert_state(struct store *store, int version)
{
	struct store_state *one = store_next_state(store, RUN, 0, NULL);

	g_assert_true((one != NULL) == (version >= 12));
	if (one)
		g_assert_cmpmem(g_bytes_get_data(one->state, NULL), 3, "14 ", 3);
	store_state_free(one);
}

/* Whatever a version had is there, and of what it had not there is nothing. */
static void assert_all(struct store *store, int version)
{
	guint decisions = 0;

	assert_rows(store_runs(store, NULL), 1);
	assert_task(store);
	assert_rows(store_events(store, RUN, NULL), 2);
	g_assert_true(each_decision(store, RUN, count_decision, &decisions, NULL));
	g_assert_cmpuint(decisions, ==, 1);
	assert_rows(store_samples(store, RUN, NULL), 4);
	assert_rows(store_estimates(store, NULL), 1);
	assert_rows(store_suspensions(store, RUN, NULL), version >= 2);
	assert_rows(store_vm_overheads(store, RUN, NULL), version >= 2);
	assert_rows(store_task_suspensions(store, RUN, TASK, 1, NULL), version >= 2);
	assert_rows(store_migrations(store, RUN, NULL), version >= 4);
	assert_rows(store_task_migrations(store, RUN, TASK, 1, NULL), version >= 4);
	assert_rows(store_lost(store, RUN, NULL), version >= 10);
	assert_rows(store_task_lost(store, RUN, TASK, NULL), version >= 10);
	assert_input(store, version);
	assert_state(store, version);
	assert_rows(store_shares(store, RUN, NULL), version >= 4);
	assert_rows(store_deliveries(store, RUN, NULL), version >= 4);
	assert_submission(store, version);
	assert_rows(store_drains(store, RUN, NULL), version >= 5);
	assert_meter(store, version);
	assert_rows(store_account_sums(store, RUN, "day", NULL), version >= 6);
}

/* All tables with their columns and keys, and what else there is. */
static char *schema_of(struct store *store)
{
	GString *text = g_string_new(NULL);
	sqlite3_stmt *statement = NULL;

	g_assert_cmpint(
		sqlite3_prepare_v2(
			database_handle(store->database),
			"SELECT m.type || ' ' || m.name || ' ' || coalesce(c.name || ' ' || c.type ||"
			" ' ' || c.\"notnull\" || ' ' || coalesce(c.dflt_value, '-') || ' ' || c.pk, '')"
			" FROM sqlite_master m LEFT JOIN pragma_table_info(m.name) c"
			" ORDER BY m.type, m.name, c.cid",
			-1, &statement, NULL),
		==, SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW)
		g_string_append_printf(text, "%s\n", sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return g_string_free(text, FALSE);
}

static void assert_like_new(struct store *store)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-store-XXXXXX", NULL);
	struct store *fresh = store_open(dir, true, NULL);
	g_autofree char *schema = schema_of(store);
	g_autofree char *wanted = schema_of(fresh);

	g_assert_cmpstr(schema, ==, wanted);
	g_assert_cmpint(database_version(store->database), ==, STORE_SCHEMA_VERSION);
	store_close(fresh);
	remove_files(dir);
}

/*
 * What an old file could not hold. A local scheduler that lost its state has the same number again.
 */
static void write_new(struct store *store)
{
	const struct store_submission submission = {.run = RUN,
						    .task = 8,
						    .type = (char *)"IS.2",
						    .uid = -1,
						    .submitted_utc = (char *)"2026",
						    .constant_s = NAN,
						    .zero_s = NAN,
						    .deadline_s = NAN,
						    .priority = 4};
	const struct store_suspension suspension = {.run = RUN,
						    .task = TASK,
						    .attempt = 2,
						    .n = 1,
						    .cluster = (char *)"c1",
						    .nodes = (char *)"0"};
	const struct store_migration migration = {.run = RUN,
						  .task = TASK,
						  .attempt = 2,
						  .n = 1,
						  .cluster = (char *)"c1",
						  .nodes = (char *)"0",
						  .to_nodes = (char *)"1"};
	const struct store_task lost = {.run = RUN,
					.task = TASK,
					.attempts = 1,
					.cluster = (char *)"c1",
					.nodes = (char *)"0,1",
					.started_s = 2,
					.ended_s = 5};
	const struct store_input input = {.run = RUN,
					  .n = 4,
					  .time_s = 2,
					  .task = -1,
					  .attempt = -1,
					  .snapshot_sum = -1,
					  .plan_sum = 17,
					  .request_sum = 18,
					  .cut = -1};
	const struct store_account_meter meter = {.run = RUN,
						  .host = (char *)"b2",
						  .cluster = (char *)"c1",
						  .counter = (char *)"second"};
	g_autoptr(GError) error = NULL;

	g_assert_true(store_put_submission(store, &submission, &error));
	g_assert_true(store_put_suspension(store, &suspension, &error));
	g_assert_true(store_put_migration(store, &migration, &error));
	g_assert_true(store_put_lost(store, &lost, &error));
	g_assert_true(store_put_account_meter(store, &meter, &error));
	g_assert_true(store_put_input(store, &input, &error));
	store_add_sample(store, RUN, "b1", 1, 700, 9000, 1, false, &error);
	g_assert_no_error(error);
}

static void test_old(struct fixture *fixture, const void *data)
{
	const struct old *old = data;
	struct store *store = open_store(fixture, false);

	assert_all(store, old->version);
	g_assert_cmpint(database_version(store->database), ==, old->version);
	store = open_store(fixture, true);
	assert_all(store, old->version);
	assert_like_new(store);
	write_new(store);
	store = open_store(fixture, false);
	assert_rows(store_samples(store, RUN, NULL), 5);
	assert_rows(store_measurements(store, NULL), old->version >= 10);
	assert_rows(store_unmeasured(store, NULL), old->version >= 10);
	assert_rows(store_overheads(store, NULL), old->version >= 10);
	assert_rows(store_submissions(store, RUN, NULL), 1 + (old->version >= 5));
	assert_rows(store_suspensions(store, RUN, NULL), 1 + (old->version >= 2));
	assert_rows(store_migrations(store, RUN, NULL), 1 + (old->version >= 4));
	assert_rows(store_account_meters(store, RUN, NULL), 1 + (old->version >= 6));
	assert_rows(store_lost(store, RUN, NULL), 1 + (old->version >= 10));
	assert_rows(store_task_lost(store, RUN, TASK, NULL), 1 + (old->version >= 10));
	assert_rows(store_inputs_after(store, RUN, 0, 10, NULL), 1 + (old->version >= 11));
	assert_last_input(store, 4);
	assert_rows(store_task_lost(store, RUN, TASK + 1, NULL), 0);
}

static void assert_policies(struct store *store)
{
	static const char *const runs[] = {"easy",
					   "max-upt-preempt-pair+algorithm-3",
					   "max-upt-preempt-pair",
					   "max-util-preempt-pair+algorithm-3+drop:0.5",
					   "max-util-preempt-pair+drop:0.5",
					   "max-upt-preempt-diff"};
	g_autoptr(GPtrArray) rows = store_runs(store, NULL);
	g_autoptr(GPtrArray) sums = store_account_sums(store, RUN, "policy", NULL);

	g_assert_cmpuint(rows->len, ==, G_N_ELEMENTS(runs));
	for (guint i = 0; i < rows->len; i++)
		g_assert_cmpstr(((struct store_run *)rows->pdata[i])->policy, ==, runs[i]);
	g_assert_cmpuint(sums->len, ==, 3);
	for (guint i = 0; i < sums->len; i++) {
		const struct store_account_sum *sum = sums->pdata[i];

		/* Each has kept its own joules. */
		g_assert_cmpint(sum->meter_uj, ==,
				g_str_equal(sum->key, "max-upt-preempt-pair+algorithm-3") ? 100
				: g_str_equal(sum->key, "max-upt-preempt-pair")           ? 200
											  : 67);
		g_assert_cmpint(sum->tasks_uj, ==, sum->meter_uj == 67 ? 50 : sum->meter_uj / 10);
	}
}

static void insert(const struct fixture *fixture, const char *sql)
{
	g_autofree char *path = g_build_filename(fixture->dir, STORE_FILE, NULL);
	sqlite3 *db = NULL;

	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}

/*
 * Before version 10 Pair was Algorithm 3, and the paper's text with +no-wait: each has the name
 * that it has now.
 */
static void test_pairs(struct fixture *fixture, const void *data)
{
	static const char sql[] =
		"INSERT INTO run (policy, limit_fraction, limit_j, repeat, seed, measured, t0_ns, tasks_arrived,"
		" tasks_completed, tasks_failed, tasks_dropped) SELECT column1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0 FROM (VALUES"
		" ('max-upt-preempt-pair'), ('max-upt-preempt-pair+no-wait'), ('max-util-preempt-pair+drop:0.5'),"
		" ('max-util-preempt-pair+no-wait+drop:0.5'), ('max-upt-preempt-diff'));"
		"INSERT INTO energy_day SELECT 1, '2026-01-01', 'b1', column1, 'c1', column2, 0, 0, 0, 0 FROM"
		" (VALUES ('max-upt-preempt-pair', 100), ('max-upt-preempt-pair+no-wait', 200));"
		"INSERT INTO energy_task SELECT 1, 7, '2026-01-01', 'b1', column1, 'c1', column2 FROM"
		" (VALUES ('max-upt-preempt-pair', 10), ('max-upt-preempt-pair+no-wait', 20));";

	insert(fixture, sql);
	assert_policies(open_store(fixture, false));
	assert_policies(open_store(fixture, true));
	assert_policies(open_store(fixture, true)); /* once is enough */
}

/* A file kept policies as they were spelled: two spellings of one policy of a day are its sum. */
static void test_spellings(struct fixture *fixture, const void *data)
{
	static const char sql[] =
		"INSERT INTO energy_day SELECT 1, '2026-01-01', 'b1', column1, 'c1', column2, 1, 2, 3, 4 FROM (VALUES"
		" ('max-upt-preempt-pair+no-wait+drop:0.5', 100), ('max-upt-preempt-pair+drop:0.5+no-wait', 200));"
		"INSERT INTO energy_task SELECT 1, 7, '2026-01-01', 'b1', column1, 'c1', column2 FROM (VALUES"
		" ('max-upt-preempt-pair+no-wait+drop:0.5', 10), ('max-upt-preempt-pair+drop:0.5+no-wait', 20));";
	g_autoptr(GPtrArray) sums = NULL;
	const struct store_account_sum *sum;

	insert(fixture, sql);
	sums = store_account_sums(open_store(fixture, true), RUN, "policy", NULL);
	g_assert_cmpuint(sums->len, ==, 2);
	sum = sums->pdata[1];
	g_assert_cmpstr(sum->key, ==, "max-upt-preempt-pair+drop:0.5");
	g_assert_cmpint(sum->tasks_uj, ==, 30);
	g_assert_cmpint(sum->meter_uj, ==, 300);
	g_assert_cmpint(sum->idle_uj, ==, 2);
	g_assert_cmpint(sum->management_uj, ==, 4);
	g_assert_cmpint(sum->unattributed_uj, ==, 6);
	g_assert_cmpint(sum->unserved_uj, ==, 8);
}

/* There is a file of each version before this one. */
static void test_all(void)
{
	g_assert_cmpint(olds[G_N_ELEMENTS(olds) - 1].version, ==, STORE_SCHEMA_VERSION - 1);
}

/* Writes the file that the next version leaves of this one. */
static int make_old(const char *file)
{
	const struct old *last = &olds[G_N_ELEMENTS(olds) - 1];
	struct fixture fixture = {NULL};
	char *argv[] = {(char *)"sqlite3",
			NULL,
			(char *)"SELECT 'PRAGMA application_id = ' || application_id || ';' FROM"
				" pragma_application_id",
			(char *)"SELECT 'PRAGMA user_version = ' || user_version || ';' FROM"
				" pragma_user_version",
			(char *)".dump",
			NULL};
	g_autofree char *path = NULL, *dump = NULL, *text = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	set_up(&fixture, last);
	open_store(&fixture, true);
	g_clear_pointer(&fixture.store, store_close);
	path = g_build_filename(fixture.dir, STORE_FILE, NULL);
	argv[1] = path;
	g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &dump, NULL, &status,
		     &error);
	g_assert_no_error(error);
	g_assert_cmpint(status, ==, 0);
	text = g_strdup_printf("-- %s.sql, completed by the version after it.\n%s", last->name,
			       dump);
	g_file_set_contents(file, text, -1, &error);
	g_assert_no_error(error);
	tear_down(&fixture, last);
	return 0;
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	if (argc == 3 && strcmp(argv[1], "make") == 0)
		return make_old(argv[2]);
	g_test_add_func("/store/there is a file of every earlier version", test_all);
	g_test_add("/store/the policies of Pair have the names that they have now", struct fixture,
		   BEFORE_PAIR, set_up, test_pairs, tear_down);
	g_test_add("/store/two spellings of one policy of Pair become one sum", struct fixture,
		   BEFORE_PAIR, set_up, test_spellings, tear_down);
	for (gsize i = 0; i < G_N_ELEMENTS(olds); i++) {
		g_autofree char *path = g_strdup_printf(
			"/store/a file of version %s is read, and completed to be written",
			olds[i].name);

		g_test_add(path, struct fixture, &olds[i], set_up, test_old, tear_down);
	}
	return g_test_run();
}
