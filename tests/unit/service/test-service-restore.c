/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a service makes of rows that are damaged: it continues with the others, and removes no
 * user's file.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "controller/backend/sim.h"
#include "controller/engine/engine_record.h"
#include "controller/service/run_service_private.h"
#include "controller/service/run_service_scripts.h"
#include "controller/session/run_progress.h"
#include "controller/store/store_private.h"

#define ROOM 20

/* A service that is about to be restored, as far as its record matters. */
struct bed {
	struct config_cluster cluster;
	struct config_type type;
	struct config config;
	struct run_session session;
	struct sched_system *system;
	struct run_service service;
};

static void put(struct bed *bed, uint32_t task, uint32_t first, uint32_t count)
{
	const struct store_submission row = {
		.run = bed->service.row.run,
		.task = task,
		.type = (char *)"short",
		.uid = 1000,
		.submitted_utc = (char *)"2026-01-01T00:00:00.000Z",
		.first = first,
		.count = count,
		.utility_max = 1,
		.constant_s = (double)NAN,
		.zero_s = (double)NAN,
		.deadline_s = (double)NAN,
	};
	g_autoptr(GError) error = NULL;

	store_put_submission(bed->session.store, &row, &error);
	g_assert_no_error(error);
}

static void change(struct bed *bed, const char *sql)
{
	char *message = NULL;

	sqlite3_exec(database_handle(bed->session.store->database), sql, NULL, NULL, &message);
	g_assert_null(message);
}

/* Beside what was submitted: what became of it. `task` as SQL has it. */
static void put_task(struct bed *bed, const char *task, const char *state)
{
	g_autofree char *sql = g_strdup_printf(
		"INSERT INTO task (run, task, state, arrival_s, pstate, reservation, attempts)"
		" SELECT run, %s, '%s', 0, 0, 0, 0 FROM run",
		task, state);

	change(bed, sql);
}

static int64_t count_rows(struct bed *bed, const char *table)
{
	g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM %s", table);
	sqlite3_stmt *statement;
	int64_t count;

	g_assert_cmpint(sqlite3_prepare_v2(database_handle(bed->session.store->database), sql, -1,
					   &statement, NULL),
			==, SQLITE_OK);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	count = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return count;
}

/* What was submitted of task 0, under another number too. */
static void copy_submission(struct bed *bed, const char *task)
{
	g_autofree char *sql = g_strdup_printf(
		"INSERT INTO submission SELECT run, %s, type, name, user, uid, submitted_utc, arrival_s,"
		" key, first, count, utility_max, constant_s, zero_s, deadline_s, held, cancelled, priority,"
		" asked_held, script_sha256"
		" FROM submission WHERE task = 0",
		task);

	change(bed, sql);
}

/* One cluster of two nodes, and one type, which is a script. */
static struct sched_system *make_system(void)
{
	static const struct sched_cluster clusters[] = {
		{.name = "c", .nodes = 2, .cores = 1, .pstates = 1}};
	struct sched_system *system = sched_system_new(clusters, 1, 1);

	system->row_names[0] = "short";
	system->etc_s[0] = 10;
	system->eec_j[0] = 10;
	system->nodes[0] = 1;
	g_assert_cmpint(sched_system_finish(system, NULL), ==, SCHED_SYSTEM_OK);
	return system;
}

static void set_up(struct bed *bed, const void *data)
{
	struct store_run run = {.policy = (char *)"easy",
				.limit = 1,
				.repeat = 1,
				.host_load = (double)NAN};
	struct run_service *service = &bed->service;
	g_autofree char *scripts = NULL;
	char message[256];
	g_autoptr(GError) error = NULL;

	bed->type = (struct config_type){.name = "short", .benchmark = "script", .cores = 1};
	bed->config = (struct config){.types = &bed->type, .types_count = 1};
	g_assert_true(config_type_is_script(&bed->type));
	bed->session.platform = &platform_machine;
	bed->session.config = &bed->config;
	bed->session.dir = g_dir_make_tmp("virtbed-restore-XXXXXX", NULL);
	scripts = g_build_filename(bed->session.dir, "scripts", NULL);
	g_assert_cmpint(g_mkdir(scripts, 0700), ==, 0);
	bed->session.store = store_open(bed->session.dir, true, &error);
	g_assert_no_error(error);
	g_assert_true(store_add_run(bed->session.store, &run, &error));
	bed->session.t0_ns = 1; /* the run began when this machine was booted */
	bed->session.progress = run_progress_new(&platform_machine);
	bed->system = make_system();
	service->session = &bed->session;
	service->row.run = run.run;
	service->row.started_utc = (char *)"2026-01-01T00:00:00.000Z";
	service->workload = workload_open_new(ROOM);
	service->config.tasks_max = ROOM;
	service->submissions =
		g_ptr_array_new_with_free_func((GDestroyNotify)store_submission_free);
	service->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	service->bad = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	service->backend = backend_sim_new(bed->system, ROOM);
	service->setup = (struct engine_setup){
		.system = bed->system,
		.workload = service->workload,
		.open = service->workload,
		.mapping_interval_s = 1,
		.duration_s = (double)INFINITY,
	};
	g_assert_cmpint(policy_parse("easy", &service->setup.policy, message, sizeof(message)), ==,
			0);
}

static void tear_down(struct bed *bed, const void *data)
{
	struct run_service *service = &bed->service;
	g_autofree char *command = g_strdup_printf("rm -r '%s'", bed->session.dir);

	engine_free(service->engine);
	backend_destroy(service->backend);
	recorder_store_free(service->recorder);
	workload_free(service->workload);
	g_ptr_array_unref(service->submissions);
	g_hash_table_unref(service->keys);
	g_hash_table_unref(service->bad);
	sched_system_free(bed->system);
	run_progress_free(bed->session.progress);
	store_close(bed->session.store);
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
	g_free(bed->session.dir);
}

static void go_on(struct bed *bed)
{
	struct run_service *service = &bed->service;
	g_autoptr(GError) error = NULL;

	run_service_recall(service, &error);
	g_assert_no_error(error);
	service->engine = engine_new(&service->setup, service->backend);
	run_service_restore(service, &error);
	g_assert_no_error(error);
}

static void assert_state(const struct bed *bed, uint32_t task, enum engine_task_state state)
{
	const struct engine_task *one = engine_task_at(bed->service.engine, task);

	g_assert_cmpstr(engine_task_state_name(one->state), ==, engine_task_state_name(state));
}

static char *script_of(const struct bed *bed, uint32_t first)
{
	return g_strdup_printf("%s/scripts/%u.json", bed->session.dir, first);
}

static bool has_script(const struct bed *bed, uint32_t first)
{
	g_autofree char *path = script_of(bed, first);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

static void write_script(const struct bed *bed, uint32_t first)
{
	g_autofree char *path = script_of(bed, first);

	g_assert_true(g_file_set_contents(path, "{}", -1, NULL));
}

/* Numbers that no task can have are left out, and named. */
static void test_numbers(struct bed *bed, const void *data)
{
	static const char *const numbers[] = {"-1", "20", "4294967295", "4294967297", "'x'", "1.5"};
	g_autofree char *strays = NULL;

	for (uint32_t i = 0; i < 3; i++)
		put(bed, i, i, 1);
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		copy_submission(bed, numbers[i]);
	put_task(bed, "4294967294", "running");
	put_task(bed, "-7", "running");
	go_on(bed);
	g_assert_cmpuint(bed->service.submissions->len, ==, 3);
	g_assert_cmpuint(g_hash_table_size(bed->service.bad), ==, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_state(bed, i, ENGINE_TASK_WAITING);
	strays = store_stray_tasks(bed->session.store, bed->service.row.run, ROOM);
	g_assert_cmpstr(strays, ==,
			"-7, -1, no number, 20, 4294967294, 4294967295, 4294967297, no number");
}

/* A service.tasks_max that was lowered is another matter: no task may be left out for it. */
static void test_no_room(struct bed *bed, const void *data)
{
	g_autoptr(GError) error = NULL;

	for (uint32_t i = 0; i <= ROOM; i++)
		put(bed, i, i, 1);
	g_assert_false(run_service_recall(&bed->service, &error));
	g_assert_error(error, RUN_ERROR, RUN_ERROR_INPUT);
	g_assert_nonnull(strstr(error->message, "has had 21 tasks"));
}

/* A request that does not hold its own task, or reaches where no task can be. */
static void test_requests(struct bed *bed, const void *data)
{
	static const struct {
		uint32_t first, count;
		bool good;
	} rows[] = {
		{0, 2, true},           {0, 2, true},           {2, 0, false},
		{0, 3, false},          {5, 1, false},          {5, 16, false},
		{6, UINT32_MAX, false}, {UINT32_MAX, 1, false}, {8, 1, true},
	};

	for (uint32_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		put(bed, i, rows[i].first, rows[i].count);
		write_script(bed, i);
	}
	change(bed, "UPDATE submission SET first = -1, count = -1 WHERE task = 7");
	put_task(bed, "8", "killed");
	go_on(bed);
	for (uint32_t i = 0; i + 1 < G_N_ELEMENTS(rows); i++) {
		const struct store_submission *one = g_ptr_array_index(bed->service.submissions, i);

		assert_state(bed, i, rows[i].good ? ENGINE_TASK_WAITING : ENGINE_TASK_QUARANTINED);
		g_assert_cmpuint(one->first, ==, rows[i].good ? rows[i].first : i);
		g_assert_cmpuint(one->count, ==, rows[i].good ? rows[i].count : 1);
	}
	run_service_drop_scripts(&bed->service);
	for (uint32_t i = 0; i + 1 < G_N_ELEMENTS(rows); i++)
		g_assert_true(has_script(bed, i));
	g_assert_false(has_script(bed, 8));
}

/* Of a task that is quarantined nothing goes until a person ends it: it may be started again. */
static void test_script_of_a_quarantined_task(struct bed *bed, const void *data)
{
	put(bed, 0, 0, 1);
	put(bed, 1, 1, 1);
	put_task(bed, "0", "rubbish");
	put_task(bed, "1", "killed");
	write_script(bed, 0);
	write_script(bed, 1);
	go_on(bed);
	assert_state(bed, 0, ENGINE_TASK_QUARANTINED);
	run_service_drop_scripts(&bed->service);
	g_assert_true(has_script(bed, 0));
	g_assert_false(has_script(bed, 1));
	g_assert_false(engine_request_cancel(bed->service.engine, 0));
	assert_state(bed, 0, ENGINE_TASK_KILLED);
	run_service_drop_scripts(&bed->service);
	g_assert_false(has_script(bed, 0));
}

/* Of user 1000, whose rows put() writes. `key` may be NULL. */
static bool submit_as(struct bed *bed, const char *key, bool held, uint32_t *ret_first,
		      GError **error)
{
	static char *nothing[] = {NULL};
	g_autoptr(GPtrArray) files = g_ptr_array_new();
	const struct task_script script = {.program = (char *)"run",
					   .arguments = nothing,
					   .results = nothing,
					   .files = files};
	const struct run_service_submit_request order = {.task = {.type = (char *)"short",
								  .key = (char *)key,
								  .held = held,
								  .uid = 1000,
								  .count = 1,
								  .utility_max = 1,
								  .constant_s = (double)NAN,
								  .zero_s = (double)NAN,
								  .deadline_s = (double)NAN},
							 .script = &script,
							 .unbound = true};
	uint32_t count;

	return run_service_submit(&bed->service, &order, ret_first, &count, error);
}

static bool submit(struct bed *bed, GError **error)
{
	uint32_t first;

	return submit_as(bed, NULL, false, &first, error);
}

/*
 * Of what a store before version 10 has not kept nothing is compared: whether it was held, and the
 * script.
 */
static void test_keys_of_old_submissions(struct bed *bed, const void *data)
{
	g_autoptr(GError) error = NULL;
	uint32_t first = 9;

	put(bed, 0, 0, 1);
	put(bed, 1, 1, 1);
	change(bed, "UPDATE submission SET key = 'old', asked_held = NULL WHERE task = 0");
	change(bed, "UPDATE submission SET key = 'new', asked_held = 0 WHERE task = 1");
	go_on(bed);
	g_assert_true(submit_as(bed, "old", true, &first, &error));
	g_assert_no_error(error);
	g_assert_cmpuint(first, ==, 0);
	g_assert_false(submit_as(bed, "new", true, &first, &error));
	g_assert_error(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED);
	g_assert_nonnull(strstr(error->message,
				"'new' was used for task 1 with other contents (held, script)"));
	g_assert_cmpint(count_rows(bed, "submission"), ==, 2);
}

/* Restores the service, with what is submitted on record. */
static void go_on_recording(struct bed *bed)
{
	struct run_service *service = &bed->service;

	bed->cluster = (struct config_cluster){.nodes = 2, .cores = 1};
	bed->config.clusters = &bed->cluster;
	bed->config.clusters_count = 1;
	service->recorder =
		recorder_store_new(bed->session.store, service->row.run, bed->system, true);
	bed->session.recorder = service->recorder;
	service->setup.recorder = recorder_store_engine(service->recorder);
	go_on(bed);
}

/*
 * In the turn in which the engine ends: what others submitted in it stays, and nothing is left of a
 * submission that comes too late.
 */
static void test_a_request_after_the_end(struct bed *bed, const void *data)
{
	struct run_service *service = &bed->service;
	struct engine_recorder *recorder;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) events = NULL;

	go_on_recording(bed);
	recorder = recorder_store_engine(service->recorder);
	g_assert_true(recorder->event(recorder, 1, "submitted", "{}"));
	engine_abort(service->engine, "stopped");
	g_assert_false(submit(bed, &error));
	g_assert_error(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_REFUSED);
	g_assert_cmpstr(error->message, ==, "the service is ending");
	g_assert_false(bed->session.store_failed);
	g_assert_false(has_script(bed, 0));
	g_assert_true(recorder_store_finish(service->recorder, NULL));
	events = store_events_after(bed->session.store, service->row.run, 0, 100, NULL);
	g_assert_cmpuint(events->len, ==, 1);
}

/*
 * SQLite undoes a whole transaction where the disk is full: what comes after it would be kept, and
 * done after a restart.
 */
static void test_a_request_that_is_not_recorded(struct bed *bed, const void *data)
{
	static const char *const schedulers[] = {"unix:/nobody"};
	g_autoptr(GError) error = NULL;

	go_on_recording(bed);
	bed->session.fleet = remote_fleet_new(&platform_machine, &bed->config, schedulers, &error);
	g_assert_no_error(error);
	change(bed, "CREATE TEMP TRIGGER full BEFORE INSERT ON main.task"
		    " BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END");
	g_assert_false(submit(bed, &error));
	g_assert_error(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_STORE);
	g_assert_nonnull(strstr(error->message, "the disk is full"));
	g_assert_true(bed->session.store_failed);
	g_assert_cmpint(count_rows(bed, "submission"), ==, 0);
	remote_fleet_free(bed->session.fleet);
}

/* What was written beside the engine is lost as well: no submission is accepted any more. */
static void test_a_request_after_a_lost_transaction(struct bed *bed, const void *data)
{
	static const char *const schedulers[] = {"unix:/nobody"};
	struct engine_recorder *recorder;
	g_autoptr(GError) error = NULL;

	go_on_recording(bed);
	bed->session.fleet = remote_fleet_new(&platform_machine, &bed->config, schedulers, &error);
	g_assert_no_error(error);
	recorder = recorder_store_engine(bed->service.recorder);
	g_assert_true(recorder->event(recorder, 1, "submitted", "{}"));
	change(bed, "ROLLBACK");
	g_assert_false(submit(bed, &error));
	g_assert_error(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_STORE);
	g_assert_cmpint(count_rows(bed, "task"), ==, 0);
	g_assert_cmpint(count_rows(bed, "submission"), ==, 0);
	remote_fleet_free(bed->session.fleet);
}

/*
 * What people want of tasks and nodes is done or refused, and no refusal is done after a restart.
 */
static void check_wish(struct bed *bed, bool drains)
{
	static const char *const schedulers[] = {"unix:/nobody"};
	struct run_service *service = &bed->service;
	g_autoptr(GError) error = NULL;

	put(bed, 0, 0, 1);
	go_on_recording(bed);
	bed->cluster.name = (char *)"c";
	bed->session.fleet = remote_fleet_new(&platform_machine, &bed->config, schedulers, &error);
	g_assert_no_error(error);
	change(bed, "CREATE TEMP TRIGGER full BEFORE INSERT ON main.event"
		    " BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END");
	if (drains)
		g_assert_false(run_service_drain(service, true, 0, 1, "broken", "ann", &error));
	else
		g_assert_false(run_service_request(service, RUN_SERVICE_CANCEL, 0, "ann", &error));
	g_assert_error(error, RUN_SERVICE_ERROR, RUN_SERVICE_ERROR_STORE);
	g_assert_nonnull(strstr(error->message, "the disk is full"));
	g_assert_true(bed->session.store_failed);
	g_assert_cmpint(count_rows(bed, "submission WHERE cancelled"), ==, 0);
	g_assert_cmpint(count_rows(bed, "drain"), ==, 0);
	remote_fleet_free(bed->session.fleet);
}

static void test_a_wish_that_is_not_recorded(struct bed *bed, const void *data)
{
	check_wish(bed, false);
}

static void test_a_drain_that_is_not_recorded(struct bed *bed, const void *data)
{
	check_wish(bed, true);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*run)(struct bed *bed, const void *data);
	} tests[] = {
		{"/service-restore/leaves-out-numbers-of-no-task", test_numbers},
		{"/service-restore/refuses-more-tasks-than-there-is-room-for", test_no_room},
		{"/service-restore/sets-aside-requests-that-do-not-fit", test_requests},
		{"/service-restore/keeps-scripts-of-quarantined-tasks",
		 test_script_of_a_quarantined_task},
		{"/service-restore/compares-what-is-on-record-under-a-key",
		 test_keys_of_old_submissions},
		{"/service-restore/refuses-who-comes-after-its-end", test_a_request_after_the_end},
		{"/service-restore/keeps-nothing-that-it-could-not-record",
		 test_a_request_that_is_not_recorded},
		{"/service-restore/takes-nothing-in-after-a-lost-transaction",
		 test_a_request_after_a_lost_transaction},
		{"/service-restore/keeps-no-wish-that-it-could-not-record",
		 test_a_wish_that_is_not_recorded},
		{"/service-restore/drains-no-node-that-it-could-not-record",
		 test_a_drain_that_is_not_recorded},
	};

	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct bed, NULL, set_up, tests[i].run, tear_down);
	return g_test_run();
}
