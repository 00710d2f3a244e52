/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which requests are answered when what they recorded is on disk. */
#include <glib/gstdio.h>

#include "controller/service/run_service_private.h"
#include "controller/store/store_private.h"
#include "tests/unit/backend/fixture.h"
#include "tests/unit/common/wait_for.h"

/* As much of a service as records something. */
struct bed {
	struct fixture remote;
	char *dir;
	struct run_session session;
	struct run_service service;
	struct store *other; /* the same store, as others see it */
	int commits;
	int told, told_errors;
	guint on_record; /* rows that others saw when the first one was told */
};

/* This machine, and how much work was begun on threads. */
static int jobs;

static struct platform_job *run_counted(const struct platform *platform, const char *name,
					bool needed, platform_work_f work, platform_work_f done,
					void *data)
{
	jobs++;
	return platform_machine.threads->run(&platform_machine, name, needed, work, done, data);
}

static void wait_counted(struct platform_job *job)
{
	platform_wait(&platform_machine, job);
}

static const struct platform_threads counted_threads = {.run = run_counted, .wait = wait_counted};
static struct platform counted;

static int on_commit(void *data)
{
	((struct bed *)data)->commits++;
	return 0;
}

static void set_up(struct bed *bed, gconstpointer data)
{
	struct store_run run = {.policy = (char *)"easy", .limit = 1, .repeat = 1};
	g_autoptr(GError) error = NULL;

	fixture_set_up(&bed->remote, data);
	bed->dir = g_dir_make_tmp("virtbed-safe-XXXXXX", &error);
	g_assert_no_error(error);
	bed->session.fleet = bed->remote.fleet;
	counted = platform_machine;
	counted.threads = &counted_threads;
	bed->session.store = store_open_on(&counted, bed->dir, true, &error);
	g_assert_no_error(error);
	g_assert_true(store_add_run(bed->session.store, &run, &error));
	bed->session.platform = &counted;
	bed->service.session = &bed->session;
	bed->service.row.run = run.run;
	bed->service.recorder = recorder_store_new(bed->session.store, run.run, NULL, true);
	bed->session.recorder = bed->service.recorder;
	bed->service.sync = store_sync_new(bed->session.store, &error);
	g_assert_no_error(error);
	bed->other =
		store_open_beside(&platform_machine, database_path(bed->session.store->database),
				  database_version(bed->session.store->database), 0, &error);
	g_assert_no_error(error);
	sqlite3_commit_hook(database_handle(bed->session.store->database), on_commit, bed);
}

static void tear_down(struct bed *bed, gconstpointer data)
{
	static const char *const files[] = {STORE_FILE, STORE_FILE "-wal", STORE_FILE "-shm"};

	store_sync_free(bed->service.sync, NULL);
	recorder_store_free(bed->service.recorder);
	store_close(bed->other);
	store_close(bed->session.store);
	for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(bed->dir, files[i], NULL);

		g_unlink(path);
	}
	g_assert_cmpint(g_rmdir(bed->dir), ==, 0);
	g_free(bed->dir);
	fixture_tear_down(&bed->remote, data);
}

static guint events_on_record(struct bed *bed)
{
	g_autoptr(GPtrArray) events =
		store_events_after(bed->other, bed->service.row.run, 0, 100, NULL);

	return events->len;
}

static void is_safe(const GError *error, void *data)
{
	struct bed *bed = data;

	if (bed->told++ == 0)
		bed->on_record = events_on_record(bed);
	bed->told_errors += error != NULL;
}

/* Records something, and wants to know when that is safe. */
static void record_one(struct bed *bed)
{
	struct engine_recorder *recorder = recorder_store_engine(bed->service.recorder);

	recorder->event(recorder, 1, "submitted", "{}");
	run_service_when_safe(&bed->service, is_safe, bed);
}

static void test_what_comes_in_one_turn_is_one_transaction(struct bed *bed, gconstpointer data)
{
	for (int i = 0; i < 5; i++)
		record_one(bed);
	g_assert_cmpint(bed->told, ==, 0);
	WAIT_FOR(bed->told == 5);
	g_assert_cmpint(bed->told_errors, ==, 0);
	g_assert_cmpint(bed->commits, ==, 1);
	g_assert_cmpint(bed->on_record, ==, 5);
	record_one(bed);
	WAIT_FOR(bed->told == 6);
	g_assert_cmpint(bed->commits, ==, 2);
	g_assert_cmpint(events_on_record(bed), ==, 6);
}

/* None of them waits for the sync of another one. */
static void test_what_is_one_transaction_is_one_sync(struct bed *bed, gconstpointer data)
{
	const int before = jobs;

	for (int i = 0; i < 5; i++)
		record_one(bed);
	WAIT_FOR(bed->told == 5);
	g_assert_cmpint(bed->told_errors, ==, 0);
	g_assert_cmpint(jobs, ==, before + 1);
}

static void test_all_are_told_at_the_end(struct bed *bed, gconstpointer data)
{
	record_one(bed);
	record_one(bed);
	run_service_record(&bed->service);
	store_sync_free(g_steal_pointer(&bed->service.sync), NULL);
	g_assert_cmpint(bed->told, ==, 2);
	g_assert_cmpint(bed->told_errors, ==, 0);
	g_assert_cmpint(bed->on_record, ==, 2);
}

static void test_all_are_told_that_nothing_was_recorded(struct bed *bed, gconstpointer data)
{
	g_autoptr(GError) full = g_error_new(DATABASE_ERROR, DATABASE_ERROR_FULL, "no room");

	record_one(bed);
	record_one(bed);
	recorder_store_fail(bed->service.recorder, full);
	g_assert_cmpint(bed->told, ==, 0);
	WAIT_FOR(bed->told == 2);
	g_assert_cmpint(bed->told_errors, ==, 2);
	g_assert_cmpint(bed->on_record, ==, 0);
	g_assert_true(bed->session.store_failed);
}

/* What was recorded before would be overwritten. */
static void test_the_last_input_is_not_guessed(struct bed *bed, gconstpointer data)
{
	struct recorder_store *recorder;
	g_autoptr(GError) error = NULL;

	g_assert_true(
		database_exec(bed->session.store->database, "DROP TABLE input", "damage it", NULL));
	recorder = recorder_store_new(bed->session.store, bed->service.row.run, NULL, true);
	g_assert_false(recorder_store_finish(recorder, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	recorder_store_free(recorder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/service-safe/together", struct bed, NULL, set_up,
		   test_what_comes_in_one_turn_is_one_transaction, tear_down);
	g_test_add("/service-safe/one-sync", struct bed, NULL, set_up,
		   test_what_is_one_transaction_is_one_sync, tear_down);
	g_test_add("/service-safe/end", struct bed, NULL, set_up, test_all_are_told_at_the_end,
		   tear_down);
	g_test_add("/service-safe/failed", struct bed, NULL, set_up,
		   test_all_are_told_that_nothing_was_recorded, tear_down);
	g_test_add("/service-safe/last-input", struct bed, NULL, set_up,
		   test_the_last_input_is_not_guessed, tear_down);
	return g_test_run();
}
