/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The command line of virtbed-lab, which `virtbed lab` runs too:
 *
 *   up CONFIG [--name NAME] [--probe FILE] [--json]   start the lab of a configuration
 *   down [CONFIG] [--name NAME]            take it down and remove all of it
 *   status [CONFIG] [--name NAME] [--json] show it; without either: all labs
 *   check [CONFIG]                         can this machine run a lab, and has it room?
 *   probe [--seconds S] [--json]           what can a lab have of it?
 *
 * NAME is by default the configuration's. Progress goes to standard error, results to standard
 * output. Returns the exit status: 0 done (status: it is up), 1 failed (status: it is not), 2 bad
 * usage or input.
 */
int lab_cli_main(int argc, char **argv);
