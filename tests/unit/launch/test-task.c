/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/platform.h"
#include "local-sched/launch/task.h"

#define GOOD                                                                                       \
	"{\"type\":\"IS.2\",\"benchmark\":\"is\",\"class\":\"S\",\"ranks\":2,\"repetitions\":3,"   \
	"\"nodes\":[0,1],\"deadline_s\":60}"

static struct task *parse(const char *id, const char *text, GError **error)
{
	g_autoptr(json_t) body = json_parse(text, strlen(text), "test", NULL);

	g_assert_nonnull(body);
	return task_parse_request(id, body, 4, 1, error);
}

static void test_good(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(task_t) task = parse("t-1", GOOD, &error);

	g_assert_no_error(error);
	g_assert_cmpstr(task->benchmark, ==, "is");
	g_assert_cmpuint(task->nodes_count, ==, 2);
	g_assert_cmpuint(task->nodes[1], ==, 1);
	g_assert_cmpint(task->state, ==, TASK_STARTING);
	g_assert_true(isnan(task->cpu_s));
}

/* The good body with one thing wrong, and a word of the complaint. */
static const struct {
	const char *from;
	const char *to;
	const char *word;
} wrongs[] = {
	{"\"is\"", "\"lu\"", "benchmark"},
	{"\"is\"", "\"../../bin/sh\"", "benchmark"},
	{"\"S\"", "\"Z\"", "class"},
	{"\"S\"", "\"SS\"", "class"},
	{"\"ranks\":2", "\"ranks\":0", "ranks"},
	{"\"ranks\":2", "\"ranks\":\"2\"", "ranks"},
	{"\"ranks\":2", "\"ranks\":3", "nodes"},
	{"\"repetitions\":3", "\"repetitions\":-1", "repetitions"},
	{"\"repetitions\":3", "\"x\":3", "repetitions"},
	{"[0,1]", "[0,4]", "nodes"},
	{"[0,1]", "[0,-1]", "nodes"},
	{"[0,1]", "[1,1]", "twice"},
	{"[0,1]", "[]", "nodes"},
	{"[0,1]", "[0,1.5]", "nodes"},
	{"[0,1]", "7", "nodes"},
	{"\"deadline_s\":60", "\"deadline_s\":0", "deadline_s"},
	{"\"deadline_s\":60", "\"deadline_s\":1e300", "deadline_s"},
	{"\"type\":\"IS.2\"", "\"type\":2", "type"},
	{"\"ranks\":2", "\"ranks\":2,\"queue\":1", "queue"},
	{"\"ranks\":2", "\"ranks\":2,\"start_within_s\":3", "start_within_s"},
	{"\"ranks\":2", "\"ranks\":2,\"queue\":true,\"start_within_s\":0", "start_within_s"},
	{"\"ranks\":2", "\"ranks\":2,\"user\":-1", "user"},
	{"\"ranks\":2", "\"ranks\":2,\"user\":4294967295", "user"},
	{"\"ranks\":2", "\"ranks\":2,\"count\":2,\"index\":2", "index"},
	{"\"ranks\":2", "\"ranks\":2,\"script\":{}", "script"},
	{"\"is\"", "\"script\"", "script"},
	{"\"is\"", "\"script\",\"script\":{}", "user"},
	{"\"is\"", "\"script\",\"user\":5,\"script\":{}", "script.files"},
};

static void test_wrong(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
		g_auto(GStrv) parts = g_strsplit(GOOD, wrongs[i].from, 2);
		g_autofree char *text = g_strjoinv(wrongs[i].to, parts);
		g_autoptr(GError) error = NULL;

		g_test_message("%s", text);
		g_assert_null(parse("t", text, &error));
		g_assert_nonnull(strstr(error->message, wrongs[i].word));
	}
}

static void test_ids(void)
{
	g_autofree char *longest = g_strnfill(TASK_ID_MAX, 'a');
	g_autofree char *longer = g_strnfill(TASK_ID_MAX + 1, 'a');

	g_assert_true(task_id_ok("run1.t-0007_a"));
	g_assert_true(task_id_ok(longest));
	g_assert_false(task_id_ok(longer));
	g_assert_false(task_id_ok(""));
	g_assert_false(task_id_ok("../x"));
	g_assert_false(task_id_ok("a/b"));
	g_assert_false(task_id_ok("a b"));
	g_assert_false(task_id_ok("\xc3\xa4"));
}

static void test_round_trip(void)
{
	g_autoptr(task_t) task = parse("t", GOOD, NULL);
	g_autoptr(task_t) restored = NULL;
	g_autoptr(GError) error = NULL;
	g_autofree char *request = task_request_text(task);
	g_autofree char *record = NULL;
	g_autofree char *again = NULL;

	task->state = TASK_ENDED;
	task->outcome = TASK_OUTCOME_FAILED;
	task->cause = TASK_CAUSE_STALLED;
	task->reason = g_strdup("no progress");
	task->requested_ns = 5;
	task->ended_ns = INT64_C(1) << 60;
	task->progress = (struct task_progress){.done = 12,
						.total = 375,
						.t_ns = task->ended_ns - 95 * INT64_C(1000000000)};
	task->cpu_s = 0.1;
	task->host_energy_uj = 123456789;
	{
		g_autoptr(json_t) object = task_to_json(task, platform_now_ns(&platform_machine));

		record = json_text(object);
	}
	restored = task_restore("t", request, record, platform_now_ns(&platform_machine), &error);
	g_assert_no_error(error);
	{
		g_autoptr(json_t) object =
			task_to_json(restored, platform_now_ns(&platform_machine));

		again = json_text(object);
	}
	g_assert_cmpstr(again, ==, record);
	g_assert_true(isnan(restored->benchmark_time_s));
	g_assert_cmpint(restored->cause, ==, TASK_CAUSE_STALLED);
	g_assert_cmpint(restored->progress.done, ==, 12);
	g_assert_nonnull(strstr(record, "\"cause\":\"stalled\""));
	g_assert_nonnull(strstr(record, "\"progress\":{\"age_s\":95.0,\"done\":12,\"total\":375}"));
}

/*
 * Of the same outcome there may be several causes; where none is given the outcome says what it
 * can.
 */
static const struct {
	enum task_outcome outcome;
	enum task_cause given;
	const char *name;
} causes[] = {
	{TASK_OUTCOME_NONE, TASK_CAUSE_NONE, NULL},
	{TASK_OUTCOME_COMPLETED, TASK_CAUSE_NONE, NULL},
	{TASK_OUTCOME_DEADLINE, TASK_CAUSE_NONE, "deadline"},
	{TASK_OUTCOME_KILLED, TASK_CAUSE_NONE, "killed"},
	{TASK_OUTCOME_LOST, TASK_CAUSE_NONE, "other"},
	{TASK_OUTCOME_LOST, TASK_CAUSE_VM, "vm"},
	{TASK_OUTCOME_FAILED, TASK_CAUSE_NONE, "other"},
	{TASK_OUTCOME_FAILED, TASK_CAUSE_EXIT, "exit"},
};

static void test_causes(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(causes); i++) {
		g_autoptr(task_t) task = parse("t", GOOD, NULL);
		g_autoptr(json_t) object = NULL;

		task->outcome = causes[i].outcome;
		task->cause = causes[i].given;
		object = task_to_json(task, platform_now_ns(&platform_machine));
		g_assert_cmpstr(json_string_value(json_object_get(object, "cause")), ==,
				causes[i].name);
		g_assert_true(json_is_null(json_object_get(object, "progress")));
	}
}

static void test_same_request(void)
{
	g_autoptr(task_t) a = parse("t", GOOD, NULL);
	g_autoptr(task_t) b = parse("t",
				    "{\"deadline_s\":60.0,\"nodes\":[0,1],\"class\":\"S\","
				    "\"ranks\":2,\"type\":\"IS.2\",\"repetitions\":3,"
				    "\"benchmark\":\"is\",\"unknown\":1}",
				    NULL);
	g_autofree char *text_a = task_request_text(a);
	g_autofree char *text_b = task_request_text(b);

	g_assert_cmpstr(text_a, ==, text_b);
}

/* What is stored of a script are its names and sums: enough to know the request again. */
static void test_script(void)
{
	static const char text[] =
		"{\"type\":\"S\",\"benchmark\":\"script\",\"class\":\"S\",\"ranks\":2,"
		"\"repetitions\":1,\"nodes\":[0,1],\"deadline_s\":60,\"user\":1000,\"queue\":true,"
		"\"index\":3,\"count\":8,\"script\":{\"program\":\"x\",\"files\":["
		"{\"name\":\"x\",\"data\":\"aGVsbG8=\"}]}}";
	g_autoptr(GError) error = NULL;
	g_autoptr(task_t) task = parse("t", text, &error);
	g_autoptr(task_t) restored = NULL;
	g_autoptr(json_t) object = NULL;
	g_autofree char *request = NULL;
	g_autofree char *record = NULL;
	g_autofree char *again = NULL;

	g_assert_no_error(error);
	g_assert_cmpuint(task_processes(task), ==, 2);
	g_assert_cmpint(task->user, ==, 1000);
	request = task_request_text(task);
	g_assert_null(strstr(request, "aGVsbG8"));
	object = task_to_json(task, platform_now_ns(&platform_machine));
	record = json_text(object);
	restored = task_restore("t", request, record, platform_now_ns(&platform_machine), &error);
	g_assert_no_error(error);
	again = task_request_text(restored);
	g_assert_cmpstr(again, ==, request);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task/reads-a-good-request", test_good);
	g_test_add_func("/task/knows-a-script-again", test_script);
	g_test_add_func("/task/names-what-is-wrong", test_wrong);
	g_test_add_func("/task/ids-are-file-names", test_ids);
	g_test_add_func("/task/survives-the-store", test_round_trip);
	g_test_add_func("/task/says-what-ended-it", test_causes);
	g_test_add_func("/task/equal-requests-have-equal-texts", test_same_request);
	return g_test_run();
}
