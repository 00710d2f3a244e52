/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option long_options[] = {
	{"class", required_argument, NULL, 'c'},
	{"repetitions", required_argument, NULL, 'r'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_class(const char *text, char *ret_class)
{
	if (strlen(text) != 1 || !strchr("SWABC", text[0]))
		return -1;
	*ret_class = text[0];
	return 0;
}

static int parse_repetitions(const char *text, int *ret_repetitions)
{
	char *end = NULL;
	long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < 1 || value > NPB_REPETITIONS_MAX)
		return -1;
	*ret_repetitions = (int)value;
	return 0;
}

static enum npb_options_status bad(char *message, const char *what, const char *text,
				   const char *cure)
{
	snprintf(message, NPB_OPTIONS_MESSAGE_SIZE, "%s '%.40s': %s", what, text, cure);
	return NPB_OPTIONS_BAD;
}

enum npb_options_status npb_options_parse(int argc, char **argv, struct npb_options *ret_options,
					  char *ret_message)
{
	struct npb_options options = {.class = 'S', .repetitions = 1};
	int c;

	optind = 0; /* glibc: start afresh, so that tests can parse more than once */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'h')
			return NPB_OPTIONS_HELP;
		if (c == 'c') {
			if (parse_class(optarg, &options.class) < 0)
				return bad(ret_message, "unknown class", optarg,
					   "give one of S, W, A, B, C");
		} else if (c == 'r') {
			if (parse_repetitions(optarg, &options.repetitions) < 0)
				return bad(ret_message, "bad number of repetitions", optarg,
					   "give a whole number from 1 to 1000000");
		} else {
			return bad(ret_message, "unknown option or missing value", argv[optind - 1],
				   "try --help");
		}
	}
	if (optind < argc)
		return bad(ret_message, "unexpected argument", argv[optind], "try --help");

	*ret_options = options;
	return NPB_OPTIONS_RUN;
}

char *npb_options_usage(const char *program)
{
	static const char text[] =
		"usage: %s [--class S|W|A|B|C] [--repetitions N]\n"
		"\n"
		"Start it with mpiexec, or with any launcher that speaks PMI-1. IS and CG take a\n"
		"power of two of ranks, EP any number, and of MG's ranks a power of two takes part.\n"
		"\n"
		"  --class CLASS     problem size, from the smallest: S (default), W, A, B, C\n"
		"  --repetitions N   run the timed section N times, each run verified (default 1)\n"
		"  --help            print this and end\n"
		"\n"
		"Exit status: 0 verified, 1 not verified or unsuitable number of ranks,\n"
		"2 bad usage.\n";
	int length = snprintf(NULL, 0, text, program);
	char *usage = malloc((size_t)length + 1);

	if (usage)
		snprintf(usage, (size_t)length + 1, text, program);
	return usage;
}
