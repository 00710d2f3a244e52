/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/launch/npb_output.h"

#define BLOCK(time, verdict)                                                                       \
	"\n\n IS Benchmark Completed\n Class           =                        S\n"               \
	" Time in seconds =                     0.07\n"                                            \
	" Time in seconds (full) =       " time "\n"                                               \
	" Verification    =               " verdict "\n Version         =            x\n\n"

static const struct {
	const char *name;
	const char *benchmark;
	const char *text;
	bool verified;
	double time_s;
} cases[] = {
	{"one", "is", BLOCK("0.068310974", "SUCCESSFUL"), true, 0.068310974},
	{"wrong", "is", BLOCK("0.5", "UNSUCCESSFUL"), false, 0.5},
	{"both", "is_cg", BLOCK("0.5", "SUCCESSFUL") BLOCK("0.25", "SUCCESSFUL"), true, 0.75},
	{"half", "is_cg", BLOCK("0.5", "SUCCESSFUL"), false, 0.5},
	{"half-wrong", "is_cg", BLOCK("0.5", "SUCCESSFUL") BLOCK("0.25", "UNSUCCESSFUL"), false,
	 0.75},
	{"too-many", "is", BLOCK("0.5", "SUCCESSFUL") BLOCK("0.5", "SUCCESSFUL"), false, 1},
	{"nothing", "is", "", false, 0},
	{"ep", "ep", BLOCK("0.5", "SUCCESSFUL"), true, 0.5},
	{"unknown-benchmark", "lu", BLOCK("0.5", "SUCCESSFUL"), false, 0.5},
	{"short-time", "cg", " Time in seconds =   1.25\n Verification    =   SUCCESSFUL\n", true,
	 1.25},
	{"not-at-line-start", "is", "x Verification    =   SUCCESSFUL\n", false, 0},
	{"more-words", "is", " Verification    =   NOT SUCCESSFUL\n", false, 0},
	{"no-number", "is", " Time in seconds (full) = abc\n", false, 0},
	{"not-utf8", "is", "\xff\xfe\n Verification    =   SUCCESSFUL\n", true, 0},
	{"crlf", "is", " Verification    =   SUCCESSFUL\r\n", true, 0},
};

static void test_cases(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct npb_output output;

		g_test_message("%s", cases[i].name);
		npb_output_parse(cases[i].text, &output);
		g_assert_cmpint(npb_output_verified(&output, cases[i].benchmark), ==,
				cases[i].verified);
		g_assert_cmpfloat_with_epsilon(output.time_s, cases[i].time_s, 1e-12);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb-output/verification-counts-per-block", test_cases);
	return g_test_run();
}
