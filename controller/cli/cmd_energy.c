/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glib.h>
#include <unistd.h>

#include "controller/cli/commands.h"
#include "controller/run/run_paths.h"

/*
 * Meters are read by the local schedulers' side alone: `virtbed energy --live` becomes its program,
 * as `virtbed lab` becomes the lab's.
 */
int cmd_energy(int argc, char **argv)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *program = run_paths_program("virtbed-meters", &error);
	const char *name = argv[0];

	if (!program)
		return command_fail(COMMAND_FAILED, name, "%s", error->message);
	argv[0] = program;
	execv(program, argv);
	return command_fail(COMMAND_FAILED, name, "cannot start \"%s\": %s", program,
			    g_strerror(errno));
}
