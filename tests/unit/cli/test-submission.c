/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/cmd_submit.h"
#include "tests/unit/cli/document.h"

static void test_bodies(void)
{
	static const struct {
		const char *typed[SUBMISSION_OPTIONS];
		const char *body;
	} cases[] = {
		{{NULL}, "{\"type\": \"IS.2\", \"count\": 1}"},
		{{[SUBMISSION_UTILITY] = "1e6"},
		 "{\"type\": \"IS.2\", \"count\": 1, \"utility_max\": 1000000.0}"},
		{{[SUBMISSION_COUNT] = "3",
		  [SUBMISSION_UTILITY] = "2.5",
		  [SUBMISSION_NAME] = "night",
		  [SUBMISSION_KEY] = "k1",
		  [SUBMISSION_CONSTANT] = "10m",
		  [SUBMISSION_ZERO_AT] = "1h"},
		 "{\"type\": \"IS.2\", \"count\": 3, \"name\": \"night\", \"key\": \"k1\", "
		 "\"utility_max\": 2.5, \"constant_s\": 600.0, \"zero_s\": 3600.0}"},
		{{[SUBMISSION_ARRAY] = "10000"}, "{\"type\": \"IS.2\", \"count\": 10000}"},
		{{[SUBMISSION_ZERO_AT] = "90s"},
		 "{\"type\": \"IS.2\", \"count\": 1, \"zero_s\": 90.0}"},
		{{[SUBMISSION_DEADLINE] = "1h30m", [SUBMISSION_PRIORITY] = "-5"},
		 "{\"type\": \"IS.2\", \"count\": 1, \"deadline_s\": 5400.0, \"priority\": -5}"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *typed[SUBMISSION_OPTIONS];
		g_autoptr(GError) error = NULL;
		g_autoptr(json_t) body = NULL;
		g_autoptr(json_t) wanted = document(cases[i].body);

		memcpy(typed, cases[i].typed, sizeof(typed));
		typed[SUBMISSION_TYPE] = "IS.2";
		body = submission_body(typed, &error);
		g_assert_no_error(error);
		g_assert_true(json_equal(body, wanted));
	}
}

static void test_refused(void)
{
	static const struct {
		const char *typed[SUBMISSION_OPTIONS];
		const char *words;
	} cases[] = {
		{{[SUBMISSION_COUNT] = "0"}, "--count: \"0\" is no whole number from 1 to 10000"},
		{{[SUBMISSION_COUNT] = "10001"}, "--count"},
		{{[SUBMISSION_COUNT] = "-1"}, "--count"},
		{{[SUBMISSION_COUNT] = "0x10"}, "--count"},
		{{[SUBMISSION_COUNT] = "1e1"}, "--count"},
		{{[SUBMISSION_COUNT] = ""}, "--count"},
		{{[SUBMISSION_ARRAY] = "2.0"}, "--array"},
		{{[SUBMISSION_COUNT] = "2", [SUBMISSION_ARRAY] = "3"}, "--array and --count"},
		{{[SUBMISSION_PRIORITY] = "0x1"}, "--priority"},
		{{[SUBMISSION_PRIORITY] = "99999999999"}, "--priority"},
		{{[SUBMISSION_UTILITY] = "0"}, "--utility"},
		{{[SUBMISSION_UTILITY] = "-1"}, "--utility"},
		{{[SUBMISSION_UTILITY] = "nan"},
		 "--utility: \"nan\" is no number above 0 and at most 1000000"},
		{{[SUBMISSION_UTILITY] = "inf"}, "--utility"},
		{{[SUBMISSION_UTILITY] = "1e999"}, "--utility"},
		{{[SUBMISSION_UTILITY] = "1000001"}, "--utility"},
		{{[SUBMISSION_DEADLINE] = "soon"}, "--deadline: \"soon\""},
		{{[SUBMISSION_DEADLINE] = "0"}, "--deadline: \"0\""},
		{{[SUBMISSION_CONSTANT] = "1m"}, "--zero-at"},
		{{[SUBMISSION_CONSTANT] = "2m", [SUBMISSION_ZERO_AT] = "1m"},
		 "--constant must not be longer"},
		{{[SUBMISSION_ZERO_AT] = "1m", [SUBMISSION_DEADLINE] = "1m"},
		 "--deadline says all"},
		{{[SUBMISSION_TIME] = "1m"}, "for a --script"},
		{{[SUBMISSION_SCRIPT] = "x"}, "--time"},
		{{[SUBMISSION_SCRIPT] = "x", [SUBMISSION_TIME] = "1m", [SUBMISSION_TYPE] = "T"},
		 "--type says"},
		{{[SUBMISSION_NODES] = "2"}, "for a --script"},
		{{[SUBMISSION_SCRIPT] = "x", [SUBMISSION_NODES] = "2", [SUBMISSION_TYPE] = "T"},
		 "--type says"},
		{{[SUBMISSION_SCRIPT] = "x",
		  [SUBMISSION_TIME] = "1m",
		  [SUBMISSION_CORES] = "2",
		  [SUBMISSION_NODES] = "2"},
		 "leave out --cores"},
		{{[SUBMISSION_SCRIPT] = "x", [SUBMISSION_TIME] = "1m", [SUBMISSION_NODES] = "0"},
		 "--nodes: \"0\""},
		{{[SUBMISSION_SCRIPT] = "x", [SUBMISSION_TIME] = "1m", [SUBMISSION_CORES] = "-1"},
		 "--cores: \"-1\""},
		{{[SUBMISSION_SCRIPT] = "x", [SUBMISSION_TIME] = "never"}, "--time: \"never\""},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(submission_body(cases[i].typed, &error));
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
