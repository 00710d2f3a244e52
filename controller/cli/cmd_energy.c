/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/commands.h"

/*
 * Meters are read by the local schedulers' side alone: `virtbed energy --live` becomes its program,
 * as `virtbed lab` becomes the lab's.
 */
int cmd_energy(int argc, char **argv)
{
	return command_become("virtbed-meters", argv);
}
