/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "common/version/build_version.h"
#include "common/visible.h"
#include "controller/cli/commands.h"

static void print_usage(FILE *file)
{
	fputs("Usage: virtbed COMMAND [OPTION...] [ARGUMENT...]\n\n"
	      "A testbed controller for virtual clusters: measures scheduling heuristics on real "
	      "VMs,\n"
	      "simulates the same experiment, and lays both side by side.\n\nCommands:\n",
	      file);
	for (const struct command *command = commands; command->name; command++)
		fprintf(file, "  %-11s %-33s %s\n", command->name, command->arguments,
			command->help);
	fputs("\n`virtbed COMMAND --help` prints the options of a command.\n"
	      "Exit status: 0 done, 1 failed, 2 bad usage or bad input.\n",
	      file);
}

static int report_unknown(const char *name)
{
	fprintf(stderr, "virtbed: unknown command \"%s\"; known:", name);
	for (const struct command *command = commands; command->name; command++)
		fprintf(stderr, " %s", command->name);
	fputc('\n', stderr);
	return COMMAND_BAD;
}

/* Runs a command as "virtbed NAME", so that its usage line reads as typed. */
static int run_command(int argc, char **argv)
{
	const struct command *command = commands;
	g_autofree char *name = g_strconcat("virtbed ", argv[0], NULL);
	/*
	 * GOptionContext removes the options that it parses: the vector is a copy, its strings are
	 * borrowed.
	 */
	g_autofree char **arguments = g_new0(char *, (gsize)argc + 1);

	while (command->name && strcmp(command->name, argv[0]) != 0)
		command++;
	if (!command->name)
		return report_unknown(argv[0]);
	memcpy(arguments, argv, (gsize)argc * sizeof(char *));
	arguments[0] = name;
	g_set_prgname(name);
	return command->main(argc, arguments);
}

static int print_help_of(int argc, char **argv)
{
	char *arguments[] = {argv[0], (char *)"--help", NULL};

	if (argc > 0)
		return run_command(2, arguments);
	print_usage(stdout);
	return COMMAND_DONE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	visible_check_at_exit();
	visible_plain_help();
	/* Numbers keep the decimal point of the C locale, since programs read them too. */
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (!name) {
		print_usage(stderr);
		return COMMAND_BAD;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_help_of(argc - 2, argv + 2);
	if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
		printf("virtbed %s\n", build_version());
		return COMMAND_DONE;
	}
	return run_command(argc - 1, argv + 1);
}
