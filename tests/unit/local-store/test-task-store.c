/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/json.h"
#include "common/platform.h"
#include "common/subprocess.h"
#include "common/sqlite/database.h"
#include "local-sched/store/task_store.h"

/* A directory of its own per test. */
static char *new_directory(void)
{
	g_autoptr(GError) error = NULL;
	char *directory = g_dir_make_tmp("virtbed-store-XXXXXX", &error);

	g_assert_no_error(error);
	return directory;
}

static void remove_directory(char *directory)
{
	const char *const argv[] = {"rm", "-rf", directory, NULL};

	subprocess_run(argv, NULL, 10, NULL, NULL);
	g_free(directory);
}

static struct task_store *reopen(const char *directory)
{
	g_autoptr(GError) error = NULL;
	struct task_store *store = task_store_open(&platform_machine, directory, &error);

	g_assert_no_error(error);
	return store;
}

static struct task *new_task(const char *id)
{
	g_autoptr(json_t) body = json_pack("{s:s, s:s, s:s, s:i, s:i, s:[i], s:f}", "type", "T",
					   "benchmark", "is", "class", "S", "ranks", 1,
					   "repetitions", 1, "nodes", 0, "deadline_s", 9.0);
	struct task *task = task_parse_request(id, body, 1, 1, NULL);

	g_assert_nonnull(task);
	return task;
}

/* Runs SQL in the file of a store that is closed. */
static void damage(const char *directory, const char *sql)
{
	g_autofree char *path = g_build_filename(directory, "local.sqlite", NULL);
	const char *const argv[] = {"sqlite3", path, sql, NULL};
	g_autoptr(GError) error = NULL;

	subprocess_run(argv, NULL, 10, NULL, &error);
	g_assert_no_error(error);
}

/*
 * The task stays known, so that it is not carried out once more under its name, and is reported as
 * lost.
 */
static void test_damaged_rows_are_put_aside(void)
{
	char *directory = new_directory();
	struct task_store *store = reopen(directory);
	g_autoptr(GPtrArray) tasks = NULL;
	g_autoptr(json_t) events = NULL;

	for (const char *const *id = (const char *const[]){"a", "b", "c", NULL}; *id; id++) {
		g_autoptr(task_t) task = new_task(*id);

		g_assert_true(task_store_add(store, task, NULL));
	}
	task_store_close(store);
	damage(directory, "UPDATE tasks SET record = '{' WHERE id = 'a';"
			  "UPDATE tasks SET request = 'x' WHERE id = 'b'");
	store = reopen(directory);
	tasks = task_store_load(store, NULL);
	g_assert_cmpuint(tasks->len, ==, 3);
	for (guint i = 0; i < tasks->len; i++) {
		const struct task *task = tasks->pdata[i];

		g_assert_cmpint(task->outcome, ==, i < 2 ? TASK_OUTCOME_LOST : TASK_OUTCOME_NONE);
		g_assert_cmpint(task->state, ==, i < 2 ? TASK_ENDED : TASK_STARTING);
	}
	events = task_store_events(store, 0, 10);
	g_assert_cmpuint(json_array_size(events), ==, 2);
	g_assert_cmpstr(json_string_value(json_object_get(json_array_get(events, 1), "task")), ==,
			"b");
	task_store_close(store);
	store = reopen(directory);
	g_ptr_array_unref(tasks);
	tasks = task_store_load(store, NULL);
	g_assert_cmpuint(tasks->len, ==, 3);
	g_assert_cmpuint(task_store_last_event(store), ==, 2);
	task_store_close(store);
	remove_directory(directory);
}

/* It has no name that it could stay known by: it is put aside once, not at each start. */
static void test_damaged_ids_are_put_aside_once(void)
{
	char *directory = new_directory();
	g_autofree char *path = g_build_filename(directory, "local.sqlite", NULL);
	struct task_store *store = reopen(directory);
	g_autoptr(task_t) task = new_task("a");
	const char *const argv[] = {"sqlite3", path, "SELECT count(*) FROM damaged", NULL};
	g_autofree char *count = NULL;

	g_assert_true(task_store_add(store, task, NULL));
	task_store_close(store);
	damage(directory, "UPDATE tasks SET id = '../b'");
	for (int start = 0; start < 3; start++) {
		g_autoptr(GPtrArray) tasks = NULL;

		store = reopen(directory);
		tasks = task_store_load(store, NULL);
		g_assert_cmpuint(tasks->len, ==, 0);
		task_store_close(store);
	}
	g_assert_true(subprocess_run(argv, NULL, 10, &count, NULL));
	g_assert_cmpstr(g_strstrip(count), ==, "1");
	remove_directory(directory);
}

/* Every schema that there was (old/), each with an ended task and a running task. */
static const char *const old_stores[] = {"1-tasks", "1-vms", "1-vms-to", "1-damaged", "1-past"};

static char *schema_of(const char *directory)
{
	g_autofree char *path = g_build_filename(directory, "local.sqlite", NULL);
	const char *const argv[] = {
		"sqlite3", path,
		"PRAGMA user_version; SELECT m.name, c.name, c.type, c.\"notnull\", c.pk FROM sqlite_master m, "
		"pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid",
		NULL};
	char *text = NULL;

	g_assert_true(subprocess_run(argv, NULL, 10, &text, NULL));
	return text;
}

static void assert_tasks_kept(struct task_store *store)
{
	g_autoptr(GPtrArray) tasks = task_store_load(store, NULL);
	const struct task *task = tasks->pdata[0];

	g_assert_cmpuint(tasks->len, ==, 2);
	g_assert_cmpstr(task->id, ==, "a-1");
	g_assert_cmpint(task->state, ==, TASK_ENDED);
	g_assert_cmpint(task->outcome, ==, TASK_OUTCOME_COMPLETED);
	task = tasks->pdata[1];
	g_assert_cmpint(task->state, ==, TASK_STARTING);
	g_assert_cmpint(task->outcome, ==, TASK_OUTCOME_NONE);
	g_assert_cmpuint(task_store_last_event(store), ==, 2);
	g_assert_cmpstr(task_store_incarnation(store), ==, "11111111-2222-4333-8444-555555555555");
}

/* It is completed to what a new file is, and then lies there like one. */
static void test_old_files(gconstpointer data)
{
	const char *name = data;
	char *directory = new_directory();
	char *other = new_directory();
	g_autofree char *file = g_strconcat(name, ".sql", NULL);
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "old", file, NULL);
	g_autofree char *read = g_strdup_printf(".read '%s'", path);
	g_autofree char *schema = NULL;
	g_autofree char *new_schema = NULL;
	g_autofree char *host = NULL;
	struct task_store *store;

	damage(directory, read);
	store = reopen(directory);
	assert_tasks_kept(store);
	host = task_store_host(store, 3);
	g_assert_cmpstr(host, ==, g_str_equal(name, "1-tasks") ? NULL : "b1");
	g_assert_true(task_store_expect_host(store, 3, "b2"));
	task_store_close(store);
	task_store_close(reopen(other));
	schema = schema_of(directory);
	new_schema = schema_of(other);
	g_assert_cmpstr(schema, ==, new_schema);
	store = reopen(directory);
	assert_tasks_kept(store);
	task_store_close(store);
	remove_directory(directory);
	remove_directory(other);
}

static void test_a_newer_file_is_refused(void)
{
	char *directory = new_directory();
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;
	g_autoptr(GError) error = NULL;

	task_store_close(reopen(directory));
	damage(directory, "PRAGMA user_version = 99; DROP TABLE past");
	before = schema_of(directory);
	g_assert_null(task_store_open(&platform_machine, directory, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SCHEMA);
	g_assert_nonnull(strstr(error->message, "written with schema 99"));
	after = schema_of(directory);
	g_assert_cmpstr(before, ==, after);
	remove_directory(directory);
}

static void test_a_damaged_file_is_named(void)
{
	char *directory = new_directory();
	g_autofree char *path = g_build_filename(directory, "local.sqlite", NULL);
	g_autoptr(GError) error = NULL;

	task_store_close(reopen(directory));
	g_assert_true(
		g_file_set_contents(path, "This is no database, however long it is.", -1, NULL));
	g_assert_null(task_store_open(&platform_machine, directory, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_OPEN);
	g_assert_nonnull(strstr(error->message, path));
	g_assert_nonnull(strstr(error->message, "move the state directory away"));
	remove_directory(directory);
}

static void test_hosts_of_vms(void)
{
	char *directory = new_directory();
	struct task_store *store = reopen(directory);
	g_autofree char *unknown = task_store_host(store, 3);
	g_autofree char *last = NULL;
	g_autofree char *expected = NULL;

	g_assert_null(unknown);
	g_assert_true(task_store_keep_host(store, 3, "b1"));
	g_assert_true(task_store_keep_host(store, 3, "b2"));
	g_assert_true(task_store_keep_host(store, 4, "b1"));
	g_assert_true(task_store_expect_host(store, 3, "b3"));
	g_assert_true(task_store_expect_host(store, 4, "b3"));
	g_assert_true(task_store_keep_host(store, 4, "b3"));
	task_store_close(store);
	store = reopen(directory);
	last = task_store_host(store, 3);
	expected = task_store_expected_host(store, 3);
	g_assert_cmpstr(last, ==, "b2");
	g_assert_cmpstr(expected, ==, "b3");
	g_assert_null(task_store_expected_host(store, 4));
	task_store_forget_hosts(store);
	g_assert_null(task_store_host(store, 4));
	g_assert_null(task_store_expected_host(store, 3));
	task_store_close(store);
	remove_directory(directory);
}

static void test_reopening(void)
{
	char *directory = new_directory();
	g_autoptr(task_store_t) store = reopen(directory);
	g_autofree char *incarnation = g_strdup(task_store_incarnation(store));
	g_autoptr(task_t) task = new_task("a");
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) tasks = NULL;
	g_autoptr(json_t) events = NULL;
	const struct task *loaded;

	g_assert_true(task_store_add(store, task, &error));
	task->state = TASK_ENDED;
	task->outcome = TASK_OUTCOME_KILLED;
	g_assert_cmpuint(task_store_update(store, task, "task-ended"), ==, 1);
	g_assert_cmpuint(task_store_event(store, "node-ready", 5, NULL, 0, "b1", NULL), ==, 2);
	task_store_close(g_steal_pointer(&store));

	store = reopen(directory);
	g_assert_cmpstr(task_store_incarnation(store), ==, incarnation);
	g_assert_cmpuint(task_store_last_event(store), ==, 2);
	tasks = task_store_load(store, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(tasks->len, ==, 1);
	loaded = tasks->pdata[0];
	g_assert_cmpint(loaded->outcome, ==, TASK_OUTCOME_KILLED);
	events = task_store_events(store, 1, 10);
	g_assert_cmpuint(json_array_size(events), ==, 1);
	g_assert_cmpstr(json_string_value(json_object_get(json_array_get(events, 0), "host")), ==,
			"b1");
	remove_directory(directory);
}

static void test_one_process(void)
{
	char *directory = new_directory();
	g_autoptr(task_store_t) store = reopen(directory);
	g_autoptr(GError) error = NULL;

	g_assert_null(task_store_open(&platform_machine, directory, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_OPEN);
	remove_directory(directory);
}

static void test_same_id(void)
{
	char *directory = new_directory();
	g_autoptr(task_store_t) store = reopen(directory);
	g_autoptr(task_t) task = new_task("a");
	g_autoptr(GError) error = NULL;

	g_assert_true(task_store_add(store, task, &error));
	g_assert_false(task_store_add(store, task, &error));
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	remove_directory(directory);
}

/* A file size limit stands for a full disk: writes fail, events live on and are written later. */
static void test_full_disk(void)
{
	char *directory = new_directory();
	g_autoptr(task_store_t) store = reopen(directory);
	g_autoptr(task_t) task = new_task("a");
	g_autoptr(json_t) events = NULL;
	struct rlimit before;
	struct rlimit none;
	g_autoptr(GError) error = NULL;

	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
	none = before;
	none.rlim_cur = 0;
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &none), ==, 0);
	g_assert_false(task_store_add(store, task, &error));
	task_store_event(store, "node-down", 1, NULL, 0, NULL, NULL);
	task_store_event(store, "node-ready", 2, NULL, 0, NULL, NULL);
	events = task_store_events(store, 0, 10);
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &before), ==, 0);
	g_assert_error(error, DATABASE_ERROR, DATABASE_ERROR_SQL);
	g_assert_cmpuint(json_array_size(events), ==, 2);
	g_assert_true(task_store_flush(store));
	task_store_close(g_steal_pointer(&store));
	store = reopen(directory);
	g_assert_cmpuint(task_store_last_event(store), ==, 2);
	remove_directory(directory);
}

static void test_kill(void)
{
	char *directory = new_directory();
	g_autoptr(GPtrArray) tasks = NULL;
	g_autoptr(task_store_t) store = NULL;
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct task_store *theirs = task_store_open(&platform_machine, directory, NULL);
		struct task *task = new_task("a");

		task_store_add(theirs, task, NULL);
		task_store_event(theirs, "x", 1, NULL, -1, NULL, NULL);
		raise(SIGKILL);
	}
	g_assert_cmpint(waitpid(child, &status, 0), ==, child);
	store = reopen(directory);
	tasks = task_store_load(store, NULL);
	g_assert_cmpuint(tasks->len, ==, 1);
	g_assert_cmpuint(task_store_last_event(store), ==, 1);
	remove_directory(directory);
}

static void test_output(void)
{
	char *directory = new_directory();
	g_autoptr(task_store_t) store = reopen(directory);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	g_assert_null(task_store_output(store, "a"));
	g_assert_true(task_store_save_output(store, "a", "x\xff\n", 3, &error));
	text = task_store_output(store, "a");
	g_assert_true(g_utf8_validate(text, -1, NULL));
	g_assert_true(g_str_has_prefix(text, "x"));
	remove_directory(directory);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-store/remembers-where-vms-are", test_hosts_of_vms);
	g_test_add_func("/task-store/remembers", test_reopening);
	g_test_add_func("/task-store/serves-one-process", test_one_process);
	g_test_add_func("/task-store/refuses-an-id-twice", test_same_id);
	g_test_add_func("/task-store/keeps-events-over-a-full-disk", test_full_disk);
	g_test_add_func("/task-store/keeps-what-was-added-before-a-kill", test_kill);
	g_test_add_func("/task-store/gives-output-as-utf8", test_output);
	g_test_add_func("/task-store/puts-damaged-rows-aside", test_damaged_rows_are_put_aside);
	g_test_add_func("/task-store/puts-damaged-ids-aside-once",
			test_damaged_ids_are_put_aside_once);
	g_test_add_func("/task-store/names-a-damaged-file", test_a_damaged_file_is_named);
	g_test_add_func("/task-store/refuses-a-newer-file", test_a_newer_file_is_refused);
	for (gsize i = 0; i < G_N_ELEMENTS(old_stores); i++) {
		g_autofree char *path =
			g_strconcat("/task-store/completes-an-old-file/", old_stores[i], NULL);

		g_test_add_data_func(path, old_stores[i], test_old_files);
	}
	return g_test_run();
}
