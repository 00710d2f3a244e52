/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "common/json.h"
#include "common/platform.h"
#include "local-sched/launch/task.h"
#include "local-sched/launch/task_operation.h"

#define REQUEST                                                                                        \
	"{\"type\": \"T\", \"benchmark\": \"is\", \"class\": \"S\", \"ranks\": 2, \"repetitions\": 1," \
	" \"nodes\": [0, 1], \"deadline_s\": 60}"

static json_t *json(const char *text)
{
	return json_loads(text, 0, NULL);
}

static void test_suspend_requests(void)
{
	static const struct {
		const char *n;
		const char *body;
		bool good;
		struct task_operation request;
	} cases[] = {
		{"1", "{}", true, {1, 1, CONFIG_KEEP_AUTO}},
		{"2", "{\"keep\": \"disk\", \"try\": 3}", true, {2, 3, CONFIG_KEEP_DISK}},
		/* Controllers count in milliseconds of a run, which may be years. */
		{"1", "{\"try\": 100000000000}", true, {1, 100000000000, CONFIG_KEEP_AUTO}},
		{"1", "{\"keep\": \"memory\"}", true, {1, 1, CONFIG_KEEP_MEMORY}},
		{"0", "{}", false, {0}},
		{"x", "{}", false, {0}},
		{"1", "[]", false, {0}},
		{"1", "{\"keep\": \"tape\"}", false, {0}},
		{"1", "{\"keep\": 1}", false, {0}},
		{"1", "{\"try\": 0}", false, {0}},
		{"99999999999999999999", "{}", false, {0}},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) body = json(cases[i].body);
		g_autoptr(GError) error = NULL;
		struct task_operation request = {0};

		g_test_message("%s %s", cases[i].n, cases[i].body);
		g_assert_cmpint(task_operation_parse_suspend(cases[i].n, body, &request, &error),
				==, cases[i].good);
		g_assert_cmpint(error == NULL, ==, cases[i].good);
		g_assert_cmpint(request.n, ==, cases[i].request.n);
		g_assert_cmpint(request.attempt, ==, cases[i].request.attempt);
		g_assert_cmpint(request.keep, ==, cases[i].request.keep);
	}
}

static void test_resume_requests(void)
{
	static const struct {
		const char *body;
		uint32_t count; /* 0: refused */
	} cases[] = {
		{"{\"nodes\": [2, 0]}", 2},
		{"{\"nodes\": []}", 0},
		{"{\"nodes\": [0, 0]}", 0},
		{"{\"nodes\": [4]}", 0},
		{"{\"nodes\": [-1]}", 0},
		{"{\"nodes\": [0, 1, 2, 3, 4]}", 0},
		{"{\"nodes\": \"all\"}", 0},
		{"{}", 0},
		{"{\"nodes\": [\"0\"]}", 0},
		{"{\"nodes\": [3], \"try\": 2}", 1},
		{"{\"nodes\": [3], \"try\": -2}", 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) body = json(cases[i].body);
		g_autoptr(GError) error = NULL;
		struct task_operation request = {0};

		g_test_message("%s", cases[i].body);
		g_assert_cmpint(task_operation_parse_nodes("1", body, 4, &request, &error), ==,
				cases[i].count > 0);
		g_assert_cmpuint(request.count, ==, cases[i].count);
		g_free(request.nodes);
	}
}

static struct task *suspended_task(void)
{
	g_autoptr(json_t) body = json(REQUEST);
	struct task *task = task_parse_request("t", body, 4, 1, NULL);
	struct task_suspension *suspension = task_suspension_new(1, task->nodes, 2, 5);

	suspension->attempt = 2;
	suspension->keep = CONFIG_KEEP_DISK;
	suspension->frozen_ns = 7;
	suspension->suspended_ns = 9;
	suspension->skew_ns = 0;
	suspension->vms[1].save_ns = 3;
	suspension->vms[1].move_ns = 4;
	g_ptr_array_add(task->suspensions, suspension);
	task->state = TASK_SUSPENDED;
	return task;
}

static void test_comes_back_from_the_store(void)
{
	g_autoptr(task_t) task = suspended_task();
	g_autoptr(json_t) object = task_to_json(task, platform_now_ns(&platform_machine));
	g_autofree char *record = json_text(object);
	g_autofree char *request = task_request_text(task);
	g_autoptr(task_t) again =
		task_restore("t", request, record, platform_now_ns(&platform_machine), NULL);
	g_autoptr(json_t) object_again = task_to_json(again, platform_now_ns(&platform_machine));

	g_assert_true(json_equal(object, object_again));
	g_assert_cmpint(again->state, ==, TASK_SUSPENDED);
	g_assert_cmpint(task_last_suspension(again)->vms[1].save_ns, ==, 3);
	g_assert_cmpint(task_last_suspension(again)->vms[1].move_ns, ==, 4);
}

static void test_tells_where_it_was_put_last(void)
{
	g_autoptr(task_t) task = suspended_task();
	struct task_suspension *last = task_last_suspension(task);
	const uint32_t nodes[] = {3, 2};
	g_autofree char *before = task_request_text(task);
	g_autofree char *after = NULL;

	last->resumed_nodes = g_memdup2(nodes, sizeof(nodes));
	last->resume_requested_ns = 11;
	g_assert_cmpuint(task_placed(task)[0], ==, 0); /* not there yet */
	last->running_ns = 12;
	g_assert_cmpuint(task_placed(task)[0], ==, 3);
	after = task_request_text(task);
	g_assert_cmpstr(before, ==, after); /* the same PUT is still the same */
	task_suspension_undo(last);
	g_assert_cmpuint(task_placed(task)[0], ==, 0);
	g_assert_cmpint(last->resume_requested_ns, ==, 0);
}

/* A record of a version that knew no suspensions. */
static void test_opens_old_records(void)
{
	g_autoptr(task_t) task =
		task_restore("t", REQUEST, "{\"state\": \"ended\", \"outcome\": \"completed\"}", 0,
			     NULL);

	g_assert_nonnull(task);
	g_assert_cmpint(task->state, ==, TASK_ENDED);
	g_assert_cmpuint(task->suspensions->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-suspension/reads-requests-to-suspend", test_suspend_requests);
	g_test_add_func("/task-suspension/reads-requests-to-resume", test_resume_requests);
	g_test_add_func("/task-suspension/comes-back-from-the-store",
			test_comes_back_from_the_store);
	g_test_add_func("/task-suspension/tells-where-it-was-put-last",
			test_tells_where_it_was_put_last);
	g_test_add_func("/task-suspension/opens-old-records", test_opens_old_records);
	return g_test_run();
}
