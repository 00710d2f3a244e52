/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/*
 * What every subcommand of `virtbed` uses: exit statuses, its options, and how it prints JSON
 * and reports a failure. The table
 * of the subcommands is in commands.h.
 */

/* Exit statuses of virtbed: done, failed, bad usage or bad input. */
enum { COMMAND_DONE = 0, COMMAND_FAILED = 1, COMMAND_BAD = 2 };

/*
 * Prefixes an error of experiment_new() or experiment_budget_j() with its source: the option
 * --policy if `policies_given` and the error is about policies, else the configuration `path`.
 * Errors of other modules name their source themselves and are left as they are.
 */
void command_name_source(GError **error, const char *path, bool policies_given);

/*
 * Prints "virtbed NAME: message" and a newline to standard error and returns `status`. `name` is
 * the subcommand's argv[0]. The message may quote input: it is printed as one line of valid UTF-8
 * without control characters.
 */
int command_fail(int status, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What the value of an option is. */
enum command_option_kind {
	COMMAND_FLAG,    /* bool, without a value */
	COMMAND_TEXT,    /* const char * */
	COMMAND_FILE,    /* const char *, the name of a file */
	COMMAND_TEXTS,   /* char **, NULL-terminated: the option may be repeated */
	COMMAND_FILES,   /* char **, names of files */
	COMMAND_NUMBER,  /* double */
	COMMAND_COUNT,   /* uint32_t */
	COMMAND_INTEGER, /* int64_t */
};

/* An option of a subcommand. An option that is not given leaves its value as it is. */
struct command_option {
	const char *name; /* without "--" */
	char letter;      /* 0: none */
	enum command_option_kind kind;
	void *value;
	const char *help;     /* NULL: --help does not show the option */
	const char *argument; /* what --help calls the value; NULL for a flag */
	double min, max;      /* of a number */
};

/*
 * Parses the options of a command, up to a row without a name, and removes them from its arguments.
 * `usage` follows the command's name in the first line of --help, and `summary` the line (each may
 * be NULL). Returns false after it printed what is wrong: the exit status is COMMAND_BAD. Texts and
 * lists live until the program ends.
 */
bool command_parse(int *argc, char ***argv, const char *usage, const char *summary,
		   const struct command_option *options);

/* Prints a document to standard output, indented. */
void command_print_json(const json_t *document);

/*
 * Replaces this process by `program`, one of virtbed's own (program_path()), with the
 * arguments of a subcommand. Returns only on failure: COMMAND_FAILED, after the reason was printed.
 */
int command_become(const char *program, char **argv);
