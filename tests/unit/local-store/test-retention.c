/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a local scheduler forgets, when, and what it never does. Time is what the tests say it is.
 */
#include <glib.h>
#include <glib/gstdio.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/platform.h"
#include "common/subprocess.h"
#include "local-sched/store/retention.h"

#define S INT64_C(1000000000)
#define KEEP_S 640.0

/* A store with its retention, and its listener. */
struct fixture {
	char *directory;
	struct task_store *store;
	struct retention *retention;
	int64_t now_ns;
	const char *busy; /* the task that may not go; NULL: none */
	GString *gone;
};

static bool may_go(const char *id, void *data)
{
	return g_strcmp0(id, ((struct fixture *)data)->busy) != 0;
}

static void gone(const char *id, void *data)
{
	g_string_append_printf(((struct fixture *)data)->gone, "%s ", id);
}

static void open_store(struct fixture *fixture)
{
	const struct retention_tasks tasks = {may_go, gone, fixture};
	g_autoptr(GError) error = NULL;

	fixture->store = task_store_open(&platform_machine, fixture->directory, &error);
	g_assert_no_error(error);
	fixture->retention = retention_new(fixture->store, KEEP_S, &tasks);
}

static void close_store(struct fixture *fixture)
{
	retention_free(fixture->retention);
	task_store_close(fixture->store);
}

static void set_up(struct fixture *fixture, gconstpointer data)
{
	fixture->directory = g_dir_make_tmp("virtbed-retention-XXXXXX", NULL);
	fixture->now_ns = S;
	fixture->gone = g_string_new("");
	open_store(fixture);
}

static void tear_down(struct fixture *fixture, gconstpointer data)
{
	const char *const argv[] = {"rm", "-rf", fixture->directory, NULL};

	close_store(fixture);
	subprocess_run(argv, NULL, 10, NULL, NULL);
	g_free(fixture->directory);
	g_string_free(fixture->gone, TRUE);
}

/* A task that was stored, and has ended with output and files. */
static void add_ended(struct fixture *fixture, const char *id)
{
	g_autoptr(json_t) body = json_pack("{s:s, s:s, s:s, s:i, s:i, s:[i], s:f}", "type", "T",
					   "benchmark", "is", "class", "S", "ranks", 1,
					   "repetitions", 1, "nodes", 0, "deadline_s", 9.0);
	g_autoptr(task_t) task = task_parse_request(id, body, 1, 1, NULL);
	g_autoptr(GBytes) files = g_bytes_new_static("x", 1);

	g_assert_true(task_store_add(fixture->store, task, NULL));
	g_assert_true(task_store_save_output(fixture->store, id, "done\n", 5, NULL));
	g_assert_true(task_store_save_results(fixture->store, id, files, NULL));
	task->state = TASK_ENDED;
	task->outcome = TASK_OUTCOME_COMPLETED;
	task_store_update(fixture->store, task, "task-ended");
}

static void add_event(struct fixture *fixture)
{
	task_store_event(fixture->store, "node-ready", clock_now_ns(), NULL, 0, "h1", NULL);
}

/* The controller has events up to `seq` and asks for `seconds`, now and then. */
static void attend(struct fixture *fixture, uint64_t seq, int seconds)
{
	retention_taken(fixture->retention, seq, fixture->now_ns);
	for (int i = 0; i < seconds; i += 10) {
		fixture->now_ns += 10 * S;
		retention_taken(fixture->retention, seq, fixture->now_ns);
	}
}

static void remove_all(struct fixture *fixture)
{
	while (retention_step(fixture->retention))
		;
}

static void assert_events(struct fixture *fixture, uint64_t first, size_t count)
{
	g_autoptr(json_t) events = task_store_events(fixture->store, 0, 1000);

	g_assert_cmpuint(json_array_size(events), ==, count);
	g_assert_cmpint(json_integer_value(json_object_get(json_array_get(events, 0), "seq")), ==,
			(int64_t)first);
}

static void assert_tasks(struct fixture *fixture, guint count)
{
	g_autoptr(GPtrArray) tasks = task_store_load(fixture->store, NULL);

	g_assert_cmpuint(tasks->len, ==, count);
}

static void assert_output(struct fixture *fixture, const char *id, bool there)
{
	g_autoptr(GBytes) output = task_store_output_bytes(fixture->store, id);
	g_autoptr(GBytes) files = task_store_results(fixture->store, id);

	g_assert_cmpint(output != NULL, ==, there);
	g_assert_cmpint(files != NULL, ==, there);
}

static void test_goes(struct fixture *fixture, gconstpointer data)
{
	add_ended(fixture, "x-1-7-1");
	add_ended(fixture, "x-1-8-2");
	add_event(fixture);
	attend(fixture, 2, KEEP_S - 10);
	remove_all(fixture);
	assert_events(fixture, 1, 3);
	assert_output(fixture, "x-1-7-1", true);
	attend(fixture, 2, 20);
	remove_all(fixture);
	g_assert_cmpstr(fixture->gone->str, ==, "x-1-7-1 x-1-8-2 ");
	assert_events(fixture, 3, 1);
	assert_tasks(fixture, 0);
	assert_output(fixture, "x-1-7-1", false);
	assert_output(fixture, "x-1-8-2", false);
}

/* Its end is event 2, of which the controller has not said that it has it. */
static void test_unseen(struct fixture *fixture, gconstpointer data)
{
	add_event(fixture);
	add_ended(fixture, "x-1-7-1");
	attend(fixture, 1, 10 * KEEP_S);
	remove_all(fixture);
	g_assert_cmpstr(fixture->gone->str, ==, "");
	assert_events(fixture, 2, 1);
	assert_output(fixture, "x-1-7-1", true);
	/* From then on it is as long again. */
	add_event(fixture);
	attend(fixture, 2, KEEP_S - 10);
	remove_all(fixture);
	assert_output(fixture, "x-1-7-1", true);
	attend(fixture, 2, 20);
	remove_all(fixture);
	assert_output(fixture, "x-1-7-1", false);
}

/* While no controller asks, no time passes. */
static void test_away(struct fixture *fixture, gconstpointer data)
{
	add_ended(fixture, "x-1-7-1");
	add_event(fixture);
	attend(fixture, 1, 100);
	fixture->now_ns += 100 * (int64_t)KEEP_S * S;
	attend(fixture, 1, 0);
	remove_all(fixture);
	assert_output(fixture, "x-1-7-1", true);
	attend(fixture, 1, KEEP_S);
	remove_all(fixture);
	assert_output(fixture, "x-1-7-1", false);
}

static void test_running(struct fixture *fixture, gconstpointer data)
{
	fixture->busy = "x-1-7-1";
	add_ended(fixture, "x-1-7-1");
	add_event(fixture);
	attend(fixture, 1, 2 * KEEP_S);
	remove_all(fixture);
	g_assert_cmpstr(fixture->gone->str, ==, "");
	assert_tasks(fixture, 1);
	assert_output(fixture, "x-1-7-1", true);
	g_assert_false(retention_is_past(fixture->retention, "x-1-7-1"));
}

static void test_names(struct fixture *fixture, gconstpointer data)
{
	static const struct {
		const char *id;
		bool past;
	} cases[] = {
		{"x-1-7-3", true},   {"x-1-7-1", true},       {"x-1-7-4", false},
		{"x-1-7-10", false}, {"x-1-70-1", false},     {"x-1-7", false},
		{"lone", true},      {"lone-1", false},       {"x-1-7-", false},
		{"x-1-7-3a", false}, {"n-99999999999", true}, {"n-99999999998", false},
	};

	add_ended(fixture, "x-1-7-3");
	add_ended(fixture, "x-1-7-2");
	add_ended(fixture, "lone");
	add_ended(fixture, "n-99999999999");
	add_event(fixture);
	attend(fixture, 4, 2 * KEEP_S);
	remove_all(fixture);
	assert_tasks(fixture, 0);
	close_store(fixture);
	open_store(fixture);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_test_message("%s", cases[i].id);
		g_assert_cmpint(retention_is_past(fixture->retention, cases[i].id), ==,
				cases[i].past);
	}
}

/* Numbers continue, and the time that was noted counts. */
static void test_reopening(struct fixture *fixture, gconstpointer data)
{
	add_ended(fixture, "x-1-7-1");
	attend(fixture, 1, 2 * KEEP_S);
	remove_all(fixture);
	/* the last event stays, and what is about it */
	g_assert_cmpstr(fixture->gone->str, ==, "");
	close_store(fixture);
	open_store(fixture);
	g_assert_cmpuint(task_store_last_event(fixture->store), ==, 1);
	add_event(fixture);
	attend(fixture, 2, KEEP_S / 10);
	remove_all(fixture);
	g_assert_cmpstr(fixture->gone->str, ==, "x-1-7-1 ");
	close_store(fixture);
	open_store(fixture);
	g_assert_cmpuint(task_store_last_event(fixture->store), ==, 2);
	add_event(fixture);
	g_assert_cmpuint(task_store_last_event(fixture->store), ==, 3);
}

static char *output_path(const struct fixture *fixture, guint task)
{
	return g_strdup_printf("%s/tasks/x-1-%u-1.out", fixture->directory, task);
}

/*
 * A directory where its output is, more of them than go in one step: they are kept, the others go.
 */
static void test_stuck(struct fixture *fixture, gconstpointer data)
{
	const guint stuck = 100;

	for (guint i = 0; i <= stuck; i++) {
		g_autofree char *id = g_strdup_printf("x-1-%u-1", i);
		g_autofree char *path = output_path(fixture, i);

		add_ended(fixture, id);
		if (i < stuck)
			g_assert_true(g_unlink(path) == 0 && g_mkdir(path, 0700) == 0);
	}
	add_event(fixture);
	attend(fixture, stuck + 1, 2 * KEEP_S);
	remove_all(fixture);
	g_assert_cmpstr(fixture->gone->str, ==, "x-1-100-1 ");
	assert_tasks(fixture, stuck);
	assert_events(fixture, 1, stuck + 1);
	g_assert_false(retention_is_past(fixture->retention, "x-1-7-1"));
	/* Nothing is tried again and again. */
	g_assert_false(retention_step(fixture->retention));
	for (guint i = 0; i < stuck; i++) {
		g_autofree char *path = output_path(fixture, i);

		g_assert_cmpint(g_rmdir(path), ==, 0);
	}
	add_event(fixture);
	attend(fixture, stuck + 2, 2 * KEEP_S);
	remove_all(fixture);
	assert_tasks(fixture, 0);
	assert_events(fixture, stuck + 3, 1);
	g_assert_true(retention_is_past(fixture->retention, "x-1-7-1"));
}

static void test_strange_numbers(struct fixture *fixture, gconstpointer data)
{
	add_ended(fixture, "x-1-7-1");
	add_event(fixture);
	attend(fixture, 1000, 2 * KEEP_S);
	remove_all(fixture);
	assert_events(fixture, 1, 2);
}

/* Many at once go in steps of which none takes long; all are told. */
static void test_steps(struct fixture *fixture, gconstpointer data)
{
	const guint count = 2000;
	guint steps = 0;

	for (guint i = 0; i < count; i++)
		add_event(fixture);
	attend(fixture, count - 1, 2 * KEEP_S);
	while (retention_step(fixture->retention))
		steps++;
	g_assert_cmpuint(steps, >=, 20);
	assert_events(fixture, count, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*test)(struct fixture *fixture, gconstpointer data);
	} tests[] = {
		{"/retention/what the controller had so long goes", test_goes},
		{"/retention/what it has not seen stays", test_unseen},
		{"/retention/no time passes while it is away", test_away},
		{"/retention/what has not ended stays", test_running},
		{"/retention/names of what went are not given again", test_names},
		{"/retention/a restart forgets nothing of it", test_reopening},
		{"/retention/what cannot be removed keeps nothing else", test_stuck},
		{"/retention/numbers of another are passed over", test_strange_numbers},
		{"/retention/it takes many steps", test_steps},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture, NULL, set_up, tests[i].test, tear_down);
	return g_test_run();
}
