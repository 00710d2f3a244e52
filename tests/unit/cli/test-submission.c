/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "controller/cli/submission.h"
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
	struct submission plain = {.count = 1, .utility = (double)NAN};
	struct submission dear = {.count = 1, .utility = 1e6};
	struct submission decaying = {.count = 3, .utility = 2.5, .name = (char *)"night",
				      .key = (char *)"k1", .held = TRUE,
				      .constant = (char *)"10m", .zero_at = (char *)"1h"};
	struct submission falling = {.count = 1, .utility = (double)NAN, .zero_at = (char *)"90s"};
	struct submission due = {.count = 1, .utility = (double)NAN, .deadline = (char *)"1h30m",
				 .priority = -5};

	assert_body(&plain, "{\"type\": \"IS.2\", \"count\": 1}");
	assert_body(&dear, "{\"type\": \"IS.2\", \"count\": 1, \"utility_max\": 1000000.0}");
	assert_body(&decaying, "{\"type\": \"IS.2\", \"count\": 3, \"name\": \"night\", "
			       "\"key\": \"k1\", \"held\": true, \"utility_max\": 2.5, "
			       "\"constant_s\": 600.0, \"zero_s\": 3600.0}");
	assert_body(&falling, "{\"type\": \"IS.2\", \"count\": 1, \"zero_s\": 90.0}");
	assert_body(&due, "{\"type\": \"IS.2\", \"count\": 1, \"deadline_s\": 5400.0, \"priority\": -5}");
}

static void test_refused(void)
{
	static const struct {
		struct submission submission;
		const char *words;
	} cases[] = {
		{{.count = 0, .utility = 1}, "--count"},
		{{.count = SUBMISSION_COUNT_MAX + 1, .utility = 1}, "--count"},
		{{.count = 1, .utility = 0}, "--utility"},
		{{.count = 1, .utility = -1}, "--utility"},
		{{.count = 1, .utility = INFINITY}, "--utility"},
		{{.count = 1, .utility = 1000001}, "--utility: give a number above 0, and at most 1000000"},
		{{.count = 1, .utility = 1, .deadline = (char *)"soon"}, "--deadline: \"soon\""},
		{{.count = 1, .utility = 1, .deadline = (char *)"0"}, "--deadline: \"0\""},
		{{.count = 1, .utility = 1, .constant = (char *)"1m"}, "--zero-at"},
		{{.count = 1, .utility = 1, .constant = (char *)"2m", .zero_at = (char *)"1m"},
		 "--constant must not be longer"},
		{{.count = 1, .utility = 1, .zero_at = (char *)"1m", .deadline = (char *)"1m"},
		 "--deadline says all"},
		{{.count = 1, .utility = 1, .time = (char *)"1m"}, "for a --script"},
		{{.count = 1, .utility = 1, .script = (char *)"x"}, "--time"},
		{{.count = 1, .utility = 1, .script = (char *)"x", .time = (char *)"1m",
		  .type = (char *)"T"}, "--type says"},
		{{.count = 1, .utility = 1, .nodes = (char *)"2"}, "for a --script"},
		{{.count = 1, .utility = 1, .script = (char *)"x", .nodes = (char *)"2",
		  .type = (char *)"T"}, "--type says"},
		{{.count = 1, .utility = 1, .script = (char *)"x", .time = (char *)"1m",
		  .cores = (char *)"2", .nodes = (char *)"2"}, "leave out --cores"},
		{{.count = 1, .utility = 1, .script = (char *)"x", .time = (char *)"1m",
		  .nodes = (char *)"0"}, "--nodes: \"0\""},
		{{.count = 1, .utility = 1, .script = (char *)"x", .time = (char *)"1m",
		  .cores = (char *)"-1"}, "--cores: \"-1\""},
		{{.count = 1, .utility = 1, .script = (char *)"x", .time = (char *)"never"},
		 "--time: \"never\""},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(submission_body(&cases[i].submission, &error));
		g_assert_error(error, SUBMISSION_ERROR, SUBMISSION_ERROR_OPTION);
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
