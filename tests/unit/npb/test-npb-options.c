/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "benchmarks/npb/npb_options.h"
#include "benchmarks/npb/npb_report.h"

struct options_case {
	const char *arguments; /* separated by blanks */
	enum npb_options_status status;
	char class;
	int repetitions;
	const char *message; /* a part of it, when bad */
};

static const struct options_case options_cases[] = {
	{"is", NPB_OPTIONS_RUN, 'S', 1, NULL},
	{"is --class W", NPB_OPTIONS_RUN, 'W', 1, NULL},
	{"is --class=C --repetitions=12", NPB_OPTIONS_RUN, 'C', 12, NULL},
	{"is --help", NPB_OPTIONS_HELP, 0, 0, NULL},
	{"is --class X", NPB_OPTIONS_BAD, 0, 0, "unknown class 'X'"},
	{"is --class SS", NPB_OPTIONS_BAD, 0, 0, "unknown class 'SS'"},
	{"is --class", NPB_OPTIONS_BAD, 0, 0, "missing value"},
	{"is --repetitions 0", NPB_OPTIONS_BAD, 0, 0, "bad number of repetitions '0'"},
	{"is --repetitions -3", NPB_OPTIONS_BAD, 0, 0, "bad number of repetitions '-3'"},
	{"is --repetitions 1000001", NPB_OPTIONS_BAD, 0, 0, "1000001"},
	{"is --repetitions 2x", NPB_OPTIONS_BAD, 0, 0, "2x"},
	{"is --frob", NPB_OPTIONS_BAD, 0, 0, "unknown option"},
	{"is S", NPB_OPTIONS_BAD, 0, 0, "unexpected argument 'S'"},
};

static void test_options(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(options_cases); i++) {
		const struct options_case *c = &options_cases[i];
		g_auto(GStrv) argv = g_strsplit(c->arguments, " ", -1);
		struct npb_options options = {0, 0};
		char message[NPB_OPTIONS_MESSAGE_SIZE] = "";

		g_test_message("%s", c->arguments);
		g_assert_cmpint(npb_options_parse((int)g_strv_length(argv), argv, &options,
						  message),
				==, c->status);
		g_assert_cmpint(options.class, ==, c->class);
		g_assert_cmpint(options.repetitions, ==, c->repetitions);
		if (c->message)
			g_assert_nonnull(strstr(message, c->message));
	}
}

static gchar *print_report(const struct npb_report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	gchar *copy;

	npb_report_print(report, file);
	fclose(file);
	copy = g_strdup(text);
	free(text);
	return copy;
}

static void assert_matches(const char *pattern, const char *text)
{
	g_test_message("%s", pattern);
	g_assert_true(g_regex_match_simple(pattern, text, G_REGEX_MULTILINE, 0));
}

static void test_report_has_the_lines_that_parsers_look_for(void)
{
	struct npb_report report = {
		.name = "IS",
		.operation_type = "keys ranked",
		.class = 'W',
		.size = 1048576,
		.iterations = 10,
		.processes = 5,
		.ranks = 4,
		.operations = 10485760.0,
		.time_s = 0.123456789,
		.verified = true,
	};
	g_autofree gchar *good = print_report(&report);
	g_autofree gchar *bad = NULL;

	assert_matches("^ IS Benchmark Completed$", good);
	assert_matches("^ Class +=\\s+([SWABC])$", good);
	assert_matches("^ Size            =\\s+1048576$", good);
	assert_matches("^ Iterations      =\\s+10$", good);
	assert_matches("^ Time in seconds =\\s+0\\.12$", good);
	assert_matches("^ Time in seconds \\(full\\) =\\s+0\\.123456789$", good);
	assert_matches("^ Total processes =\\s+5$", good);
	assert_matches("^ Active procs    =\\s+4$", good);
	assert_matches("^ Mop/s total +=\\s+84\\.93$", good);
	assert_matches("^ Mop/s/process   =\\s+21\\.23$", good);
	assert_matches("^ Operation type  =\\s+keys ranked$", good);
	assert_matches("^ Verification +=\\s+SUCCESSFUL$", good);
	assert_matches("^ Version         =\\s+\\S", good);
	assert_matches("^ Compile date    =\\s+\\S", good);

	report.is_cube = true;
	report.size = 256;
	report.verified = false;
	bad = print_report(&report);
	assert_matches("^ Verification +=\\s+UNSUCCESSFUL$", bad);
	assert_matches("^ Size            = {12}256x 256x 256$", bad);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/options", test_options);
	g_test_add_func("/npb/report", test_report_has_the_lines_that_parsers_look_for);
	return g_test_run();
}
