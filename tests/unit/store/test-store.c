/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "controller/store/store_private.h"
#include "controller/store/store_profile.h"
#include "tests/unit/store/each_decision.h"

/* A run directory of its own for each test; removed at the end. */
struct fixture {
	char *dir;
	char *file;
	struct store *store;
};

static void set_up(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	fixture->dir = g_dir_make_tmp("virtbed-store-XXXXXX", &error);
	g_assert_no_error(error);
	fixture->file = g_build_filename(fixture->dir, STORE_FILE, NULL);
	fixture->store = store_open(fixture->dir, true, &error);
	g_assert_no_error(error);
}

static void remove_with(const struct fixture *fixture, const char *suffix)
{
	g_autofree char *path = g_strconcat(fixture->file, suffix, NULL);

	g_unlink(path);
}

static void tear_down(struct fixture *fixture, const void *data)
{
	store_close(fixture->store);
	remove_with(fixture, "");
	remove_with(fixture, "-wal");
	remove_with(fixture, "-shm");
	g_rmdir(fixture->dir);
	g_free(fixture->file);
	g_free(fixture->dir);
}

static void reopen(struct fixture *fixture)
{
	g_autoptr(GError) error = NULL;

	g_clear_pointer(&fixture->store, store_close);
	fixture->store = store_open(fixture->dir, false, &error);
	g_assert_no_error(error);
}

static int64_t add_run(struct store *store, const char *policy)
{
	g_autoptr(GError) error = NULL;
	struct store_run run = {.policy = (char *)policy,
				.limit = 1,
				.repeat = 1,
				.host_load = NAN};

	g_assert_true(store_add_run(store, &run, &error));
	g_assert_no_error(error);
	return run.run;
}

static void test_meta(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *kind = NULL;
	g_autofree char *none = NULL;

	g_assert_true(store_set_meta(fixture->store, "kind", "measured", &error));
	g_assert_true(store_set_meta(fixture->store, "kind", "simulated", &error));
	g_assert_true(store_set_meta(fixture->store, "gone", "x", &error));
	g_assert_true(store_set_meta(fixture->store, "gone", NULL, &error));
	reopen(fixture);
	kind = store_get_meta(fixture->store, "kind");
	g_assert_cmpstr(kind, ==, "simulated");
	none = store_get_meta(fixture->store, "gone");
	g_assert_null(none);
}

static void test_run(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) runs = NULL;
	struct store_run run = {
		.policy = (char *)"max-upr",
		.limit = 0.85,
		.limit_j = 2.38e6,
		.repeat = 2,
		.seed = UINT64_MAX,
		.measured = true,
		.started_utc = (char *)"2026-01-31T23:59:59.123Z",
		.t0_ns = INT64_MAX,
		.boot_id = (char *)"b",
		.host_load = NAN,
	};
	const struct store_run *read;

	g_assert_true(store_add_run(fixture->store, &run, &error));
	g_assert_cmpint(run.run, ==, 1);
	run.ended_by = (char *)"limit";
	run.ended_s = 8123.25;
	run.utility = 1.0 / 3;
	run.energy_j = 2.38e6;
	run.tasks_arrived = 90;
	run.tasks_dropped = 7;
	g_assert_true(store_update_run(fixture->store, &run, &error));
	add_run(fixture->store, "easy");
	reopen(fixture);
	runs = store_runs(fixture->store, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(runs->len, ==, 2);
	read = g_ptr_array_index(runs, 0);
	g_assert_cmpstr(read->policy, ==, "max-upr");
	g_assert_true(read->seed == UINT64_MAX && read->t0_ns == INT64_MAX && read->measured);
	g_assert_cmpstr(read->ended_by, ==, "limit");
	g_assert_true(read->utility == 1.0 / 3 && isnan(read->host_load));
	g_assert_cmpuint(read->tasks_dropped, ==, 7);
	read = g_ptr_array_index(runs, 1);
	g_assert_null(read->ended_by);
}

static void test_task(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) tasks = NULL;
	int64_t run = add_run(fixture->store, "easy");
	struct store_task task = {
		.run = run,
		.task = 3,
		.type = (char *)"IS.8",
		.arrival_s = 1.5,
		.utility_max = 4,
		.state = (char *)"waiting",
		.planned_start_s = NAN,
		.started_s = NAN,
		.ended_s = NAN,
		.exec_s = NAN,
		.etc_s = NAN,
		.energy_j = NAN,
		.eec_j = NAN,
	};
	const struct store_task *read;

	g_assert_true(store_put_task(fixture->store, &task, &error));
	task.state = (char *)"running";
	task.cluster = (char *)"c2";
	task.nodes = (char *)"0,1,2,3";
	task.pstate = 1;
	task.reservation = true;
	task.started_s = 50;
	task.deadline_s = 72.5;
	task.chance = 0.25;
	task.threshold = NAN;
	task.queued_n = 5;
	g_assert_true(store_put_task(fixture->store, &task, &error));
	tasks = store_tasks(fixture->store, run, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(tasks->len, ==, 1);
	read = g_ptr_array_index(tasks, 0);
	g_assert_cmpstr(read->state, ==, "running");
	g_assert_cmpstr(read->nodes, ==, "0,1,2,3");
	g_assert_true(read->reservation && read->pstate == 1);
	g_assert_true(read->started_s == 50 && isnan(read->exec_s));
	g_assert_null(read->reason);
	g_assert_true(read->deadline_s == 72.5 && read->chance == 0.25);
	g_assert_true(isnan(read->threshold) && read->queued_n == 5);
}

static void test_task_needs_run(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_task task = {.run = 7, .state = (char *)"waiting"};

	g_assert_false(store_put_task(fixture->store, &task, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
}

static bool count_to_two(double time_s, const char *snapshot, const char *actions, void *data)
{
	int *count = data;

	g_assert_cmpstr(snapshot, ==, "{}");
	g_assert_cmpstr(actions, ==, *count ? "[2]" : "[1]");
	return ++*count < 2;
}

static void test_events_and_decisions_keep_their_order(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) events = NULL;
	int64_t run = add_run(fixture->store, "easy");
	int count = 0;

	g_assert_true(store_add_event(fixture->store, run, 9, "node-down", NULL, &error));
	g_assert_true(store_add_event(fixture->store, run, 1, "slid", "{\"task\": 1}", &error));
	events = store_events(fixture->store, run, &error);
	g_assert_cmpuint(events->len, ==, 2);
	g_assert_cmpstr(((struct store_event *)events->pdata[0])->kind, ==, "node-down");
	g_assert_null(((struct store_event *)events->pdata[0])->detail);
	g_assert_true(store_add_decision(fixture->store, run, 0, "{}", "[1]", &error));
	g_assert_true(store_add_decision(fixture->store, run, 50, "{}", "[2]", &error));
	g_assert_true(store_add_decision(fixture->store, run, 100, "{}", "[3]", &error));
	g_assert_true(each_decision(fixture->store, run, count_to_two, &count, &error));
	g_assert_cmpint(count, ==, 2);
}

static void test_repeated_sample_is_ignored(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) samples = NULL;
	int64_t run = add_run(fixture->store, "easy");

	g_assert_true(store_add_sample(fixture->store, run, "b1", 2, 1, 61000, 10, false, &error));
	g_assert_true(store_add_sample(fixture->store, run, "b1", 1, 0, 60000, 5, true, &error));
	g_assert_true(
		store_add_sample(fixture->store, run, "b1", 2, 1.001, 99000, 11, false, &error));
	samples = store_samples(fixture->store, run, &error);
	g_assert_cmpuint(samples->len, ==, 2);
	g_assert_true(((struct store_sample *)samples->pdata[0])->gap);
	g_assert_cmpint(((struct store_sample *)samples->pdata[1])->mw, ==, 61000);
}

/* A local scheduler that lost its state numbers its samples from 1 again. */
static void test_numbers_may_begin_again(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) samples = NULL;
	int64_t run = add_run(fixture->store, "easy");

	g_assert_true(store_add_sample(fixture->store, run, "b1", 2, 1, 61000, 10, false, &error));
	g_assert_true(store_add_sample(fixture->store, run, "b1", 1, 2, 60000, 71, false, &error));
	g_assert_true(store_add_sample(fixture->store, run, "b1", 2, 3, 60000, 131, false, &error));
	samples = store_samples(fixture->store, run, &error);
	g_assert_cmpuint(samples->len, ==, 3);
	g_assert_cmpint(((struct store_sample *)samples->pdata[1])->seq, ==, 1);
	g_assert_cmpint(((struct store_sample *)samples->pdata[2])->energy_uj, ==, 131);
}

static void test_rollback_undoes(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) runs = NULL;

	g_assert_true(store_begin(fixture->store, &error));
	add_run(fixture->store, "easy");
	store_rollback(fixture->store);
	g_assert_false(store_commit(fixture->store, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	runs = store_runs(fixture->store, NULL);
	g_assert_cmpuint(runs->len, ==, 0);
}

static void test_reader_beside_writer(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) reader = store_open(fixture->dir, false, &error);
	g_autoptr(GPtrArray) runs = NULL;

	g_assert_no_error(error);
	g_assert_true(store_begin(fixture->store, &error));
	add_run(fixture->store, "easy");
	runs = store_runs(reader, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(runs->len, ==, 0);
	g_assert_true(store_commit(fixture->store, &error));
	g_ptr_array_unref(runs);
	runs = store_runs(reader, &error);
	g_assert_cmpuint(runs->len, ==, 1);
}

static void test_estimates_are_replaced(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct config_estimate estimates[] = {
		{.type = (char *)"IS.8", .cluster = (char *)"c1", .etc_s = 1675, .eec_j = 25962},
		{.type = (char *)"IS.8", .cluster = (char *)"c2", .etc_s = 750, .eec_j = 35250},
	};

	g_assert_true(store_put_estimates(fixture->store, estimates, 2, &error));
	g_assert_true(store_put_estimates(fixture->store, estimates, 1, &error));
	estimates[1].cluster = (char *)"c1";
	g_assert_false(store_put_estimates(fixture->store, estimates, 2, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	g_assert_true(sqlite3_get_autocommit(database_handle(fixture->store->database)));
}

static void test_a_pair_is_measured_once_a_round(struct fixture *fixture, const void *data)
{
	struct store *store = fixture->store;
	struct store_measurement one = {.type = (char *)"IS.8",
					.cluster = (char *)"c1",
					.round = 0,
					.work = (char *)"is",
					.exec_s = 1.25,
					.energy_j = NAN};
	struct store_unmeasured hole = {(char *)"CG.8", (char *)"c1", (char *)"hangs", 14};
	struct store_overhead overhead = {0, (char *)"c1", (char *)"disk", (char *)"{}"};
	g_autoptr(GPtrArray) rows = NULL;
	g_autoptr(GPtrArray) holes = NULL;
	g_autoptr(GPtrArray) overheads = NULL;
	g_autoptr(GError) error = NULL;

	g_assert_true(store_set_durable(store, true, &error));
	g_assert_true(store_add_measurement(store, &one, &error));
	g_assert_false(store_add_measurement(store, &one, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	g_clear_error(&error);
	one.round = STORE_NO_ROUND;
	one.energy_j = 7;
	g_assert_true(store_add_measurement(store, &one, &error));
	g_assert_true(store_add_measurement(store, &one, &error));
	g_assert_true(store_put_unmeasured(store, &hole, &error));
	hole.task_deadline_s = 0;
	g_assert_true(store_put_unmeasured(store, &hole, &error));
	g_assert_true(store_add_overhead(store, &overhead, &error));
	g_assert_true(store_set_durable(store, false, &error));
	g_assert_true(store_drop_measurement(store, 2, &error));
	reopen(fixture);
	rows = store_measurements(fixture->store, &error);
	holes = store_unmeasured(fixture->store, &error);
	overheads = store_overheads(fixture->store, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rows->len, ==, 2);
	g_assert_cmpint(((struct store_measurement *)rows->pdata[0])->round, ==, 0);
	g_assert_true(isnan(((struct store_measurement *)rows->pdata[0])->energy_j));
	g_assert_cmpint(((struct store_measurement *)rows->pdata[1])->n, ==, 3);
	g_assert_cmpint(((struct store_measurement *)rows->pdata[1])->round, ==, STORE_NO_ROUND);
	g_assert_cmpfloat(((struct store_measurement *)rows->pdata[1])->exec_s, ==, 1.25);
	g_assert_cmpuint(holes->len, ==, 1);
	g_assert_cmpfloat(((struct store_unmeasured *)holes->pdata[0])->task_deadline_s, ==, 0);
	g_assert_cmpstr(((struct store_unmeasured *)holes->pdata[0])->reason, ==, "hangs");
	g_assert_cmpuint(overheads->len, ==, 1);
	g_assert_true(store_drop_unmeasured(fixture->store, "CG.8", "c1", &error));
	g_ptr_array_unref(holes);
	holes = store_unmeasured(fixture->store, &error);
	g_assert_cmpuint(holes->len, ==, 0);
}

static void test_the_last_delivery_is_that_of_the_attempt(struct fixture *fixture, const void *data)
{
	int64_t run = add_run(fixture->store, "greedy");
	g_autofree struct store_delivery *none = NULL;
	g_autofree struct store_delivery *last = NULL;
	g_autoptr(GError) error = NULL;

	for (uint32_t i = 0; i < 12; i++) {
		const struct store_delivery row = {
			.run = run,
			.task = i % 2,
			.attempt = 1 + i / 6,
			.time_s = 2 * i,
			.share = 0.5,
			.asked_cores = 1,
			.given_cores = i,
		};

		g_assert_true(store_put_delivery(fixture->store, &row, &error));
	}
	last = store_last_delivery(fixture->store, run, 1, 1, &error);
	g_assert_no_error(error);
	g_assert_cmpfloat(last->given_cores, ==, 5);
	none = store_last_delivery(fixture->store, run, 2, 1, &error);
	g_assert_no_error(error);
	g_assert_null(none);
}

/* SQLite's own limit on the file's size stands for a full disk: the same code path as ENOSPC. */
static void test_full_disk_is_told_and_undoes_only_the_write(struct fixture *fixture,
							     const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *text = g_strnfill(1 << 20, 'x');
	g_autoptr(GPtrArray) events = NULL;
	int64_t run = add_run(fixture->store, "easy");

	sqlite3_exec(database_handle(fixture->store->database), "PRAGMA max_page_count = 40", NULL,
		     NULL, NULL);
	g_assert_false(store_add_event(fixture->store, run, 0, "big", text, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_FULL);
	g_assert_nonnull(strstr(error->message, "the disk is full"));
	g_assert_null(strchr(error->message, '\n'));
	g_assert_true(store_add_event(fixture->store, run, 0, "small", NULL, NULL));
	events = store_events(fixture->store, run, NULL);
	g_assert_cmpuint(events->len, ==, 1);
}

static void expect_refused(const char *dir, enum database_error code, const char *words)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(store_open(dir, false, &error));
	g_assert_error(error, DATABASE_ERROR, (int)code);
	g_assert_true(store_error_is_input(error));
	g_test_message("%s", error->message);
	g_assert_nonnull(strstr(error->message, words));
	g_assert_null(strchr(error->message, '\n'));
}

static void test_missing_directory(struct fixture *fixture, const void *data)
{
	expect_refused("/nonexistent/run", DATABASE_ERROR_OPEN, "No such file");
	expect_refused(fixture->file, DATABASE_ERROR_OPEN, "not a directory");
}

static void test_directory_without_store(struct fixture *fixture, const void *data)
{
	g_clear_pointer(&fixture->store, store_close);
	g_unlink(fixture->file);
	expect_refused(fixture->dir, DATABASE_ERROR_OPEN, "not a run directory");
	g_assert_true(g_file_set_contents(fixture->file, "", 0, NULL));
	expect_refused(fixture->dir, DATABASE_ERROR_OPEN, "empty");
}

static void test_not_a_store(struct fixture *fixture, const void *data)
{
	g_autofree char *noise = g_strnfill(8192, 'n');
	sqlite3 *db = NULL;

	g_clear_pointer(&fixture->store, store_close);
	g_assert_true(g_file_set_contents(fixture->file, noise, 8192, NULL));
	expect_refused(fixture->dir, DATABASE_ERROR_OPEN, "not a store of virtbed");
	g_unlink(fixture->file);
	g_assert_cmpint(sqlite3_open(fixture->file, &db), ==, SQLITE_OK);
	sqlite3_exec(db, "CREATE TABLE other (x)", NULL, NULL, NULL);
	sqlite3_close(db);
	expect_refused(fixture->dir, DATABASE_ERROR_OPEN, "not a store of virtbed");
}

static void test_newer_schema(struct fixture *fixture, const void *data)
{
	sqlite3_exec(database_handle(fixture->store->database), "PRAGMA user_version = 99", NULL,
		     NULL, NULL);
	g_clear_pointer(&fixture->store, store_close);
	expect_refused(fixture->dir, DATABASE_ERROR_SCHEMA, "schema 99");
}

static const struct store_suspension some_suspension = {
	.task = 3,
	.attempt = 1,
	.n = 2,
	.cluster = (char *)"c1",
	.nodes = (char *)"0,1",
	.by_person = true,
	.held = true,
	.requested_s = 10,
	.suspended_s = 12.5,
	.exec_s = 9.25,
	.resume_requested_s = NAN,
	.resumed_s = NAN,
	.since_s = NAN,
	.freeze_s = 0.5,
	.save_s = 2,
	.restore_s = NAN,
	.resume_s = NAN,
	.skew_s = 0.001,
};

static void test_suspensions(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_suspension row = some_suspension;
	struct store_vm_overhead vm = {.task = 3, .attempt = 1, .n = 2, .vm = 1};
	g_autoptr(GPtrArray) rows = NULL;
	g_autoptr(GPtrArray) of_task = NULL;
	g_autoptr(GPtrArray) none = NULL;
	g_autoptr(GPtrArray) others = NULL;
	g_autoptr(GPtrArray) vms = NULL;
	const struct store_suspension *read;
	const struct store_vm_overhead *read_vm;

	row.run = vm.run = add_run(fixture->store, "easy");
	g_assert_true(store_put_suspension(fixture->store, &row, &error));
	row.held = false;
	row.to_nodes = (char *)"1,2";
	row.resume_requested_s = 20;
	row.since_s = 21;
	row.resumed_s = 21.5;
	g_assert_true(store_put_suspension(fixture->store, &row, &error));
	row.n = 1;
	g_assert_true(store_put_suspension(fixture->store, &row, &error));
	vm.freeze_s = 0.25;
	vm.save_s = 1.5;
	vm.restore_s = vm.resume_s = NAN;
	g_assert_true(store_put_vm_overhead(fixture->store, &vm, &error));
	vm.freeze_s = vm.save_s = NAN;
	vm.restore_s = 3;
	vm.resume_s = 0;
	g_assert_true(store_put_vm_overhead(fixture->store, &vm, &error));
	g_assert_no_error(error);
	reopen(fixture);
	rows = store_suspensions(fixture->store, row.run, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(rows->len, ==, 2);
	read = g_ptr_array_index(rows, 1);
	g_assert_cmpuint(read->task, ==, 3);
	g_assert_cmpuint(read->n, ==, 2);
	g_assert_cmpstr(read->nodes, ==, "0,1");
	g_assert_cmpstr(read->to_nodes, ==, "1,2");
	g_assert_true(read->by_person);
	g_assert_false(read->held);
	g_assert_cmpfloat(read->suspended_s, ==, 12.5);
	g_assert_cmpfloat(read->exec_s, ==, 9.25);
	g_assert_cmpfloat(read->since_s, ==, 21);
	g_assert_cmpfloat(read->skew_s, ==, 0.001);
	g_assert_true(isnan(read->restore_s));
	of_task = store_task_suspensions(fixture->store, row.run, 3, 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(of_task->len, ==, 2);
	read = g_ptr_array_index(of_task, 1);
	g_assert_cmpuint(read->n, ==, 2);
	g_assert_cmpfloat(read->skew_s, ==, 0.001);
	none = store_task_suspensions(fixture->store, row.run, 3, 2, &error);
	others = store_task_suspensions(fixture->store, row.run, 2, 1, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(none->len + others->len, ==, 0);
	vms = store_vm_overheads(fixture->store, row.run, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(vms->len, ==, 1);
	read_vm = g_ptr_array_index(vms, 0);
	g_assert_cmpuint(read_vm->vm, ==, 1);
	g_assert_cmpfloat(read_vm->freeze_s, ==, 0.25);
	g_assert_cmpfloat(read_vm->save_s, ==, 1.5);
	g_assert_cmpfloat(read_vm->restore_s, ==, 3);
	g_assert_cmpfloat(read_vm->resume_s, ==, 0);
}

static void fill(struct store *store, int rows)
{
	int64_t run = add_run(store, "easy");

	g_assert_true(store_begin(store, NULL));
	for (int i = 0; i < rows; i++)
		g_assert_true(
			store_add_event(store, run, i, "filler", "{\"a\": \"bcdefghijkl\"}", NULL));
	g_assert_true(store_commit(store, NULL));
}

static void test_truncated(struct fixture *fixture, const void *data)
{
	g_autofree char *content = NULL;
	gsize length;

	fill(fixture->store, 2000);
	g_clear_pointer(&fixture->store, store_close);
	g_assert_true(g_file_get_contents(fixture->file, &content, &length, NULL));
	g_assert_true(g_file_set_contents(fixture->file, content, (gssize)length / 2, NULL));
	expect_refused(fixture->dir, DATABASE_ERROR_CORRUPT, "damaged or truncated");
}

static void test_damaged(struct fixture *fixture, const void *data)
{
	g_autofree char *content = NULL;
	gsize length;

	fill(fixture->store, 2000);
	g_clear_pointer(&fixture->store, store_close);
	g_assert_true(g_file_get_contents(fixture->file, &content, &length, NULL));
	memset(content + length / 2, 0x5a, 9000);
	g_assert_true(g_file_set_contents(fixture->file, content, (gssize)length, NULL));
	expect_refused(fixture->dir, DATABASE_ERROR_CORRUPT, "damaged or truncated");
}

/* What a `kill -9` leaves: a file whose last commits are still in the WAL beside it. */
static void test_crash_loses_no_commit(struct fixture *fixture, const void *data)
{
	g_autofree char *copy = g_dir_make_tmp("virtbed-store-XXXXXX", NULL);
	g_autofree char *file = g_build_filename(copy, STORE_FILE, NULL);
	g_autofree char *wal = g_strconcat(file, "-wal", NULL);
	g_autofree char *from_wal = g_strconcat(fixture->file, "-wal", NULL);
	g_autofree char *main_part = NULL;
	g_autofree char *wal_part = NULL;
	gsize main_length, wal_length;
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = NULL;
	g_autoptr(GPtrArray) runs = NULL;

	add_run(fixture->store, "easy");
	g_assert_true(g_file_get_contents(fixture->file, &main_part, &main_length, NULL));
	g_assert_true(g_file_get_contents(from_wal, &wal_part, &wal_length, NULL));
	g_assert_true(g_file_set_contents(file, main_part, (gssize)main_length, NULL));
	g_assert_true(g_file_set_contents(wal, wal_part, (gssize)wal_length, NULL));
	store = store_open(copy, false, &error);
	g_assert_no_error(error);
	runs = store_runs(store, &error);
	g_assert_cmpuint(runs->len, ==, 1);
	g_clear_pointer(&store, store_close);
	g_unlink(file);
	g_rmdir(copy);
}

#define TEST(path, function) g_test_add(path, struct fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/store/meta is kept, replaced and removed", test_meta);
	TEST("/store/a run is read back as it was written", test_run);
	TEST("/store/a task is replaced by its next state", test_task);
	TEST("/store/a task of no run is refused", test_task_needs_run);
	TEST("/store/events and decisions keep their order",
	     test_events_and_decisions_keep_their_order);
	TEST("/store/a repeated sample is ignored", test_repeated_sample_is_ignored);
	TEST("/store/sample numbers may begin again", test_numbers_may_begin_again);
	TEST("/store/a rollback undoes the transaction", test_rollback_undoes);
	TEST("/store/a reader beside a writer sees commits only", test_reader_beside_writer);
	TEST("/store/estimates are replaced as a whole or not at all", test_estimates_are_replaced);
	TEST("/store/a pair is measured once a round, and given up once",
	     test_a_pair_is_measured_once_a_round);
	TEST("/store/the last delivery is that of the attempt",
	     test_the_last_delivery_is_that_of_the_attempt);
	TEST("/store/a full disk undoes the write that failed",
	     test_full_disk_is_told_and_undoes_only_the_write);
	TEST("/store/a missing directory is bad input", test_missing_directory);
	TEST("/store/a directory without a store is bad input", test_directory_without_store);
	TEST("/store/a file that is no store is bad input", test_not_a_store);
	TEST("/store/a newer schema is bad input", test_newer_schema);
	TEST("/store/suspensions are stored by task and VM", test_suspensions);
	TEST("/store/a truncated file is bad input", test_truncated);
	TEST("/store/a damaged file is bad input", test_damaged);
	TEST("/store/a crash loses no commit", test_crash_loses_no_commit);
	return g_test_run();
}
