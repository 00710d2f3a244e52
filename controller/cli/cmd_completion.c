/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/report/charts.h"
#include "controller/report/report.h"

/* The words that complete the value of an option. */
static void print_values(const char *command, const char *option, char letter, const char *words)
{
	printf("\t\"%s --%s\" | \"%s -%c\") words=\"%s\" ;;\n", command, option, command, letter,
	       words);
}

/*
 * The script runs `virtbed COMMAND --help` for the options, so that it is never out of date. The
 * names of commands and charts come from their tables.
 */
static void print_bash(void)
{
	g_autofree char *kinds = chart_kinds_known();

	fputs("# Completion of virtbed for bash, made by `virtbed completion bash`.\n"
	      "_virtbed()\n{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]}\n"
	      "\tlocal command=${COMP_WORDS[1]} words=\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"help version --help --version",
	      stdout);
	for (const struct command *command = commands; command->name; command++)
		printf(" %s", command->name);
	fputs("\"\n"
	      "\telif [[ $current == -* ]]; then\n"
	      "\t\twords=$(virtbed \"$command\" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' "
	      "| sort -u)\n"
	      "\telif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
	      "\t\tcase $command in\n",
	      stdout);
	for (const struct command *command = commands; command->name; command++)
		if (command->words[0])
			printf("\t\t%s) words=\"%s\" ;;\n", command->name, command->words);
	fputs("\t\tesac\n"
	      "\tfi\n"
	      "\tcase \"$command ${COMP_WORDS[COMP_CWORD - 1]}\" in\n",
	      stdout);
	print_values("report", "format", 'f', COMMAND_REPORT_FORMATS);
	print_values("report", "chart", 'c', kinds);
	print_values("report", "table", 't', REPORT_CSV_TABLES);
	fputs("\t\"config keys\") [[ $current == -* ]] || words=$(virtbed config keys --paths 2>/dev/null) ;;\n"
	      "\tesac\n"
	      "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	      "}\n"
	      "complete -o bashdefault -o default -F _virtbed virtbed\n",
	      stdout);
}

int cmd_completion(int argc, char **argv)
{
	const struct command_option none = {NULL};

	if (!command_parse(&argc, &argv, "bash", NULL, &none))
		return COMMAND_BAD;
	if (argc != 2 || strcmp(argv[1], "bash") != 0)
		return command_fail(COMMAND_BAD, argv[0], "which shell? known: bash");
	print_bash();
	return COMMAND_DONE;
}
