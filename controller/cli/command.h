/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>

/*
 * What every subcommand of `virtbed` uses: exit statuses, and how it reports a failure. The table
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

/*
 * Replaces this process by `program`, one of virtbed's own (run_paths_program()), with the
 * arguments of a subcommand. Returns only on failure: COMMAND_FAILED, after the reason was printed.
 */
int command_become(const char *program, char **argv);
