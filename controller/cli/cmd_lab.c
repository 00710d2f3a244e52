/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/cli/commands.h"

/*
 * The lab is a program of its own, on the far side of the wire format: the controller's side
 * reaches emulated blades as it reaches real ones. `virtbed lab` becomes it.
 */
int cmd_lab(int argc, char **argv)
{
	return command_become("virtbed-lab", argv);
}
