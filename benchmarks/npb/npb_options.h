/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command line that all kernels share:  PROGRAM --class S|W|A|B|C [--repetitions N]
 */
#ifndef NPB_OPTIONS_H
#define NPB_OPTIONS_H

/* Repetitions beyond this are surely a slip of the keyboard. */
#define NPB_REPETITIONS_MAX 1000000

/* What the user asked for. */
struct npb_options {
	char class;      /* problem class: 'S', 'W', 'A', 'B' or 'C' */
	int repetitions; /* how often the timed section runs, 1..NPB_REPETITIONS_MAX */
};

/* What to do after parsing. */
enum npb_options_status {
	NPB_OPTIONS_RUN = 0,  /* options are complete: run */
	NPB_OPTIONS_HELP = 1, /* --help was given: print the usage to stdout and end with 0 */
	NPB_OPTIONS_BAD = 2,  /* bad usage: the message was written, end with status 2 */
};

/* Size of the message buffer that npb_options_parse() fills. */
#define NPB_OPTIONS_MESSAGE_SIZE 160

/*
 * Parse @argv into @ret_options (class S, one repetition unless told otherwise).
 * @ret_message (NPB_OPTIONS_MESSAGE_SIZE bytes) gets one line without newline when the result is
 * NPB_OPTIONS_BAD; @ret_options is then untouched.
 */
enum npb_options_status npb_options_parse(int argc, char **argv, struct npb_options *ret_options,
					  char *ret_message);

/* Text of --help for the program called @program; the caller frees it. */
char *npb_options_usage(const char *program);

#endif
