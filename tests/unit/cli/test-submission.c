/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/cmd_submit.h"
#include "tests/unit/cli/document.h"

static void assert_body(const struct submission *submission, const char *expected)
{
	struct submission typed = *submission;
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) body = NULL;
	g_autoptr(json_t) wanted = document(expected);

	typed.type = (char *)"IS.2";
	body = submission_body(&typed, &error);
	g_assert_no_error(error);
	g_assert_true(json_equal(body, wanted));
}

static void test_bodies(void)
{
	struct submission plain = {0};
	struct submission dear = {.utility = (char *)"1e6"};
	struct submission decaying = {.count = (char *)"3",
				      .utility = (char *)"2.5",
				      .name = (char *)"night",
				      .key = (char *)"k1",
				      .held = TRUE,
				      .constant = (char *)"10m",
				      .zero_at = (char *)"1h"};
	struct submission falling = {.zero_at = (char *)"90s"};
	struct submission due = {.deadline = (char *)"1h30m", .priority = (char *)"-5"};

	assert_body(&plain, "{\"type\": \"IS.2\", \"count\": 1}");
	assert_body(&dear, "{\"type\": \"IS.2\", \"count\": 1, \"utility_max\": 1000000.0}");
	assert_body(&decaying, "{\"type\": \"IS.2\", \"count\": 3, \"name\": \"night\", "
			       "\"key\": \"k1\", \"held\": true, \"utility_max\": 2.5, "
			       "\"constant_s\": 600.0, \"zero_s\": 3600.0}");
	assert_body(&falling, "{\"type\": \"IS.2\", \"count\": 1, \"zero_s\": 90.0}");
	assert_body(&due,
		    "{\"type\": \"IS.2\", \"count\": 1, \"deadline_s\": 5400.0, \"priority\": -5}");
}

static void test_refused(void)
{
	static const struct {
		struct submission submission;
		const char *words;
	} cases[] = {
		{{.count = (char *)"0"}, "--count: \"0\" is no whole number from 1 to 10000"},
		{{.count = (char *)"10001"}, "--count"},
		{{.count = (char *)"-1"}, "--count"},
		{{.count = (char *)"0x10"}, "--count"},
		{{.count = (char *)"1e1"}, "--count"},
		{{.count = (char *)""}, "--count"},
		{{.array = (char *)"2.0"}, "--array"},
		{{.count = (char *)"2", .array = (char *)"3"}, "--array and --count"},
		{{.priority = (char *)"0x1"}, "--priority"},
		{{.priority = (char *)"99999999999"}, "--priority"},
		{{.utility = (char *)"0"}, "--utility"},
		{{.utility = (char *)"-1"}, "--utility"},
		{{.utility = (char *)"nan"},
		 "--utility: \"nan\" is no number above 0 and at most 1000000"},
		{{.utility = (char *)"inf"}, "--utility"},
		{{.utility = (char *)"1e999"}, "--utility"},
		{{.utility = (char *)"1000001"}, "--utility"},
		{{.deadline = (char *)"soon"}, "--deadline: \"soon\""},
		{{.deadline = (char *)"0"}, "--deadline: \"0\""},
		{{.constant = (char *)"1m"}, "--zero-at"},
		{{.constant = (char *)"2m", .zero_at = (char *)"1m"},
		 "--constant must not be longer"},
		{{.zero_at = (char *)"1m", .deadline = (char *)"1m"}, "--deadline says all"},
		{{.time = (char *)"1m"}, "for a --script"},
		{{.script = (char *)"x"}, "--time"},
		{{.script = (char *)"x", .time = (char *)"1m", .type = (char *)"T"}, "--type says"},
		{{.nodes = (char *)"2"}, "for a --script"},
		{{.script = (char *)"x", .nodes = (char *)"2", .type = (char *)"T"}, "--type says"},
		{{.script = (char *)"x",
		  .time = (char *)"1m",
		  .cores = (char *)"2",
		  .nodes = (char *)"2"},
		 "leave out --cores"},
		{{.script = (char *)"x", .time = (char *)"1m", .nodes = (char *)"0"},
		 "--nodes: \"0\""},
		{{.script = (char *)"x", .time = (char *)"1m", .cores = (char *)"-1"},
		 "--cores: \"-1\""},
		{{.script = (char *)"x", .time = (char *)"never"}, "--time: \"never\""},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(submission_body(&cases[i].submission, &error));
		g_assert_nonnull(error);
		g_assert_nonnull(strstr(error->message, cases[i].words));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/submission/bodies", test_bodies);
	g_test_add_func("/submission/refused", test_refused);
	return g_test_run();
}
