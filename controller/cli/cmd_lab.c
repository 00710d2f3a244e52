/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <unistd.h>

#include "controller/cli/commands.h"
#include "controller/cli/program.h"

/*
 * The lab is a program of its own, on the far side of the wire format: the controller's side reaches
 * emulated blades as it reaches real ones. `virtbed lab` becomes it.
 */
int cmd_lab(int argc, char **argv)
{
	g_autofree char *program = program_find("virtbed-lab");
	const char *name = argv[0];

	if (!program)
		return command_fail(COMMAND_FAILED, name,
				    "cannot find the program \"virtbed-lab\" beside this one or in "
				    "PATH; build or install it");
	argv[0] = program;
	execv(program, argv);
	return command_fail(COMMAND_FAILED, name, "cannot start \"%s\": %s", program,
			    g_strerror(errno));
}
