/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole scheduler, of a simulated cluster. */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "local-sched/core/scheduler.h"
#include "local-sched/store/task_store.h"

#define DEADLINE_S 20

static const char config_text[] =
	"name: test\n"
	"clusters:\n"
	"  - {name: c1, nodes: 1, cores: 1, memory_mib: 64, simulated: {speed: 100, idle_w: 50, seed: 7},\n"
	"     hosts: [{name: h1}]}\n"
	"types:\n"
	"  - {name: A, benchmark: is, class: S, cores: 1, memory_mib: 64, share: 1}\n"
	"  - {name: S, benchmark: script, cores: 1, memory_mib: 64, share: 0, time_s: 50}\n"
	"estimates:\n"
	"  - {type: A, cluster: c1, etc_s: 5, eec_j: 40}\n"
	"workload: {arrival_mean_s: 1, duration_s: 1, utility_max: [1]}\n"
	"experiment: {policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 1}\n"
	"service: {retention_days: 1e-6}\n"; /* 0.09 s */

static const char script_text[] =
	"{\"type\":\"S\",\"benchmark\":\"script\",\"class\":\"S\",\"ranks\":1,\"repetitions\":1,"
	"\"nodes\":[0],\"deadline_s\":60,\"user\":1000,\"queue\":true,\"script\":{\"program\":\"x\","
	"\"files\":[{\"name\":\"x\",\"data\":\"aGVsbG8=\"}]}}";

struct fixture {
	char *directory;
	struct config *config;
	struct task_store *store;
	struct scheduler *scheduler;
};

static void set_up(struct fixture *fixture, gconstpointer data)
{
	struct scheduler_settings settings = {.platform = &platform_machine,
					      .boot_timeout_s = DEADLINE_S};
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;

	fixture->directory = g_dir_make_tmp("virtbed-XXXXXX", NULL);
	path = g_build_filename(fixture->directory, "config.yaml", NULL);
	g_assert_true(g_file_set_contents(path, config_text, -1, NULL));
	fixture->config = config_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	fixture->store = task_store_open(&platform_machine, fixture->directory, &error);
	g_assert_no_error(error);
	settings.config = fixture->config;
	settings.store = fixture->store;
	settings.state_directory = fixture->directory;
	fixture->scheduler = scheduler_new(&settings, &error);
	g_assert_no_error(error);
}

static void remove_all(const char *path)
{
	GDir *dir = g_dir_open(path, 0, NULL);
	const char *entry;

	while (dir && (entry = g_dir_read_name(dir))) {
		g_autofree char *inside = g_build_filename(path, entry, NULL);

		remove_all(inside);
	}
	g_clear_pointer(&dir, g_dir_close);
	g_remove(path);
}

static void stopped(bool clean, void *data)
{
	*(bool *)data = true;
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	bool is_stopped = false;

	scheduler_stop(fixture->scheduler, stopped, &is_stopped);
	while (!is_stopped)
		g_main_context_iteration(NULL, TRUE);
	scheduler_free(fixture->scheduler);
	task_store_close(fixture->store);
	config_free(fixture->config);
	remove_all(fixture->directory);
	g_free(fixture->directory);
}

static const struct task *put_script(struct fixture *fixture, const char *id, bool *ret_new)
{
	g_autoptr(json_t) body = json_loads(script_text, 0, NULL);
	g_autoptr(GError) error = NULL;
	const struct task *task = scheduler_operate(fixture->scheduler, SCHEDULER_START, id, NULL,
						    body, ret_new, &error);

	g_assert_no_error(error);
	return task;
}

static void wait_state(const struct task *task, enum task_state state)
{
	const int64_t began_ns = clock_now_ns();

	while (task->state != state) {
		g_assert_cmpfloat(clock_elapsed_s(began_ns, clock_now_ns()), <, DEADLINE_S);
		g_main_context_iteration(NULL, TRUE);
	}
}

/* Until no migration of it is under way, during which its state stays. */
static void wait_moved(const struct task *task)
{
	const int64_t began_ns = clock_now_ns();

	while (task_is_migrating(task)) {
		g_assert_cmpfloat(clock_elapsed_s(began_ns, clock_now_ns()), <, DEADLINE_S);
		g_main_context_iteration(NULL, TRUE);
	}
}

/* Its files are gone when it has ended, in whatever way, and it is known again all the same. */
static void test_script(struct fixture *fixture, gconstpointer data)
{
	bool is_new;
	const struct task *runs = put_script(fixture, "runs", &is_new);
	const struct task *waits = put_script(fixture, "waits", &is_new);

	g_assert_nonnull(runs->script);
	g_assert_nonnull(waits->script);
	scheduler_operate(fixture->scheduler, SCHEDULER_KILL, "waits", NULL, NULL, &is_new, NULL);
	g_assert_false(is_new);
	g_assert_cmpint(waits->outcome, ==, TASK_OUTCOME_KILLED);
	g_assert_null(waits->script);
	wait_state(runs, TASK_ENDED);
	g_assert_cmpint(runs->outcome, ==, TASK_OUTCOME_COMPLETED);
	g_assert_null(runs->script);
	g_assert_true(put_script(fixture, "runs", &is_new) == runs);
	g_assert_false(is_new);
}

/* Whether an ended task is not known any more; the controller has all that there is on record. */
static bool is_gone(struct fixture *fixture, const char *id)
{
	scheduler_taken(fixture->scheduler, task_store_last_event(fixture->store));
	g_main_context_iteration(NULL, TRUE);
	return !scheduler_task(fixture->scheduler, id);
}

/* What ended goes, what runs does not, and neither is started once more. */
static void test_retention(struct fixture *fixture, gconstpointer data)
{
	const int64_t began_ns = clock_now_ns();
	g_autoptr(json_t) body = json_loads(script_text, 0, NULL);
	g_autoptr(GError) error = NULL;
	bool is_new;

	wait_state(put_script(fixture, "x-1-0-1", &is_new), TASK_ENDED);
	put_script(fixture, "x-1-1-1", &is_new);
	while (!is_gone(fixture, "x-1-0-1"))
		g_assert_cmpfloat(clock_elapsed_s(began_ns, clock_now_ns()), <, DEADLINE_S);
	g_assert_null(scheduler_operate(fixture->scheduler, SCHEDULER_START, "x-1-0-1", NULL, body,
					&is_new, &error));
	g_assert_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_GONE);
	g_clear_error(&error);
	g_assert_null(scheduler_operate(fixture->scheduler, SCHEDULER_SUSPEND, "x-1-0-1", "1", body,
					&is_new, &error));
	g_assert_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_GONE);
	put_script(fixture, "x-1-0-2", &is_new);
	g_assert_true(is_new);
}

/*
 * Requests in their order, and the state of the task before and after each. A new one is made when
 * no migration is under way; an operation of another kind during which the task's state stays needs
 * a wait beside wait_moved().
 */
static const struct {
	enum scheduler_operation of;
	const char *n, *body;
	enum task_state before, after;
	bool is_new;
} requests[] = {
	{SCHEDULER_SUSPEND, "1", "{}", TASK_RUNNING, TASK_SUSPENDING, true},
	{SCHEDULER_SUSPEND, "1", "{}", TASK_SUSPENDING, TASK_SUSPENDING, false},
	{SCHEDULER_SUSPEND, "1", "{}", TASK_SUSPENDED, TASK_SUSPENDED, false},
	{SCHEDULER_RESUME, "1", "{\"nodes\":[0]}", TASK_SUSPENDED, TASK_RESUMING, true},
	{SCHEDULER_RESUME, "1", "{\"nodes\":[0]}", TASK_RESUMING, TASK_RESUMING, false},
	{SCHEDULER_SHARE, "1", "{\"share\":0.5}", TASK_RUNNING, TASK_RUNNING, true},
	{SCHEDULER_SHARE, "1", "{\"share\":0.5}", TASK_RUNNING, TASK_RUNNING, false},
	{SCHEDULER_MIGRATE, "1", "{\"nodes\":[0]}", TASK_RUNNING, TASK_RUNNING, true},
	{SCHEDULER_MIGRATE, "1", "{\"nodes\":[0]}", TASK_RUNNING, TASK_RUNNING, false},
	{SCHEDULER_KILL, NULL, "{}", TASK_RUNNING, TASK_RUNNING, false},
	{SCHEDULER_KILL, NULL, "{}", TASK_ENDED, TASK_ENDED, false},
};

/* Each is done once, however often it is requested. */
static void test_operations(struct fixture *fixture, gconstpointer data)
{
	bool is_new;
	const struct task *task = put_script(fixture, "t", &is_new);

	g_assert_true(is_new);
	for (size_t i = 0; i < G_N_ELEMENTS(requests); i++) {
		g_autoptr(json_t) body = json_loads(requests[i].body, 0, NULL);
		g_autoptr(GError) error = NULL;

		wait_state(task, requests[i].before);
		if (requests[i].is_new)
			wait_moved(task);
		g_assert_true(scheduler_operate(fixture->scheduler, requests[i].of, "t",
						requests[i].n, body, &is_new, &error) == task);
		g_assert_no_error(error);
		g_assert_cmpint(is_new, ==, requests[i].is_new);
		g_assert_cmpint(task->state, ==, requests[i].after);
	}
	g_assert_cmpint(task->outcome, ==, TASK_OUTCOME_KILLED);
	g_assert_cmpuint(task->suspensions->len, ==, 1);
	g_assert_cmpint(task->share.n, ==, 1);
}

/* A task is killed in each step of a suspension: what was requested before it is killed. */
static const struct {
	enum task_state in;
	uint32_t requests; /* of requests[]: those of a suspension, a resumption */
} kills[] = {{TASK_SUSPENDING, 1}, {TASK_SUSPENDED, 1}, {TASK_RESUMING, 4}};

/* It ends at once, whichever step is under way. */
static void test_kills(struct fixture *fixture, gconstpointer data)
{
	for (size_t i = 0; i < G_N_ELEMENTS(kills); i++) {
		g_autofree char *id = g_strdup_printf("t%zu", i);
		bool is_new;
		const struct task *task = put_script(fixture, id, &is_new);

		for (uint32_t r = 0; r < kills[i].requests; r++) {
			g_autoptr(json_t) body = json_loads(requests[r].body, 0, NULL);

			wait_state(task, requests[r].before);
			g_assert_nonnull(scheduler_operate(fixture->scheduler, requests[r].of, id,
							   requests[r].n, body, &is_new, NULL));
		}
		wait_state(task, kills[i].in);
		g_assert_nonnull(scheduler_operate(fixture->scheduler, SCHEDULER_KILL, id, NULL,
						   NULL, &is_new, NULL));
		wait_state(task, TASK_ENDED);
		g_assert_cmpint(task->outcome, ==, TASK_OUTCOME_KILLED);
		g_assert_cmpint(task_last_suspension(task)->resumed_ns, <=, 0);
	}
}

/* Requests that the store refuses, in their order, and the state of the task before each. */
static const struct {
	enum scheduler_operation of;
	const char *n, *body;
	enum task_state before;
} refused[] = {
	{SCHEDULER_SUSPEND, "1", "{\"try\":3}", TASK_RUNNING},
	{SCHEDULER_RESUME, "1", "{\"nodes\":[0],\"try\":3}", TASK_SUSPENDED},
	{SCHEDULER_SHARE, "1", "{\"share\":0.5}", TASK_RUNNING},
	{SCHEDULER_SHARE, "2", "{\"share\":0.25}", TASK_RUNNING},
	{SCHEDULER_MIGRATE, "1", "{\"nodes\":[0],\"try\":3}", TASK_RUNNING},
};

/* Changes the file of the store, beside the scheduler. */
static void change_store(const struct fixture *fixture, const char *sql)
{
	g_autofree char *path = g_build_filename(fixture->directory, "local.sqlite", NULL);
	sqlite3 *db;

	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
	sqlite3_close(db);
}

static char *text_of(const struct task *task)
{
	g_autoptr(json_t) object = task_to_json(task, platform_now_ns(&platform_machine));

	return json_text(object);
}

/* The task's record in the file, after failed writes have been repeated. The caller frees it. */
static char *stored_text(const struct fixture *fixture, const char *id)
{
	g_autofree char *path = g_build_filename(fixture->directory, "local.sqlite", NULL);
	sqlite3_stmt *statement;
	sqlite3 *db;
	char *text;

	g_assert_true(task_store_flush(fixture->store));
	g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
	g_assert_cmpint(sqlite3_prepare_v2(db, "SELECT record FROM tasks WHERE id = ?", -1,
					   &statement, NULL),
			==, SQLITE_OK);
	sqlite3_bind_text(statement, 1, id, -1, NULL);
	g_assert_cmpint(sqlite3_step(statement), ==, SQLITE_ROW);
	text = g_strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return text;
}

/* The request is refused, as nothing can be stored. */
static void expect_refusal(struct fixture *fixture, enum scheduler_operation of, const char *id,
			   const char *n, const json_t *body)
{
	g_autoptr(GError) error = NULL;
	bool is_new = true;

	change_store(fixture, "CREATE TRIGGER adds BEFORE INSERT ON tasks"
			      " BEGIN SELECT RAISE(ABORT, 'full'); END;"
			      "CREATE TRIGGER changes BEFORE UPDATE ON tasks"
			      " BEGIN SELECT RAISE(ABORT, 'full'); END;");
	g_assert_null(scheduler_operate(fixture->scheduler, of, id, n, body, &is_new, &error));
	g_assert_error(error, SCHEDULER_ERROR, SCHEDULER_ERROR_NOT_NOW);
	g_assert_false(is_new);
	change_store(fixture, "DROP TRIGGER adds; DROP TRIGGER changes;");
}

/* The task is as it was, in the store as well, and the same request is then new. */
static void test_not_stored(struct fixture *fixture, gconstpointer data)
{
	g_autoptr(json_t) script = json_loads(script_text, 0, NULL);
	struct task *task;
	bool is_new;

	expect_refusal(fixture, SCHEDULER_START, "t", NULL, script);
	g_assert_null(scheduler_task(fixture->scheduler, "t"));
	task = (struct task *)put_script(fixture, "t", &is_new);
	g_assert_true(is_new);
	/* As after a suspension that failed. */
	task->refused_n = 1;
	task->refused_attempt = 2;
	for (size_t i = 0; i < G_N_ELEMENTS(refused); i++) {
		g_autoptr(json_t) body = json_loads(refused[i].body, 0, NULL);
		g_autoptr(GError) error = NULL;
		g_autofree char *before = NULL, *after = NULL, *stored = NULL;

		wait_state(task, refused[i].before);
		wait_moved(task);
		before = text_of(task);
		expect_refusal(fixture, refused[i].of, "t", refused[i].n, body);
		after = text_of(task);
		g_assert_cmpstr(after, ==, before);
		stored = stored_text(fixture, "t");
		g_assert_cmpstr(stored, ==, before);
		g_assert_cmpuint(task->refused_n, ==, 1);
		g_assert_cmpint(task->refused_attempt, ==, 2);
		g_assert_true(scheduler_operate(fixture->scheduler, refused[i].of, "t",
						refused[i].n, body, &is_new, &error) == task);
		g_assert_no_error(error);
		g_assert_true(is_new);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/scheduler/a script's files are forgotten when it ends", struct fixture, NULL,
		   set_up, test_script, tear_down);
	g_test_add("/scheduler/what ended long ago is known by its name alone", struct fixture,
		   NULL, set_up, test_retention, tear_down);
	g_test_add("/scheduler/an operation is done once, however often it is requested",
		   struct fixture, NULL, set_up, test_operations, tear_down);
	g_test_add("/scheduler/a task is killed in each step of a suspension", struct fixture, NULL,
		   set_up, test_kills, tear_down);
	g_test_add("/scheduler/an operation that cannot be stored changes nothing", struct fixture,
		   NULL, set_up, test_not_stored, tear_down);
	return g_test_run();
}
