/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/commands.h"

/*
 * The lab is a separate program beyond the wire format: the controller reaches emulated blades as
 * it reaches real ones. `virtbed lab` executes it.
 */
int cmd_lab(int argc, char **argv)
{
	return command_become("virtbed-lab", argv);
}
