/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

/*
 * `make-runs agree|differ|noisy DIR` makes DIR/measured and DIR/simulated, for tests of whole
 * programs.
 */
int main(int argc, char **argv)
{
	bool differ = argc == 3 && strcmp(argv[1], "differ") == 0;
	bool noisy = argc == 3 && strcmp(argv[1], "noisy") == 0;
	const struct fixture_cell *cells = noisy ? fixture_noisy : fixture_paper;
	const struct fixture measured = {
		.measured = true, .runs = 4, .tasks = 40, .ratio = 1.05, .seed = 5, .cells = cells};
	const struct fixture simulated = {.runs = 50,
					  .seed = 5,
					  .cells = differ ? fixture_turned : cells};
	g_autofree char *measured_dir = NULL;
	g_autofree char *simulated_dir = NULL;

	if (argc != 3 || (!differ && !noisy && strcmp(argv[1], "agree") != 0)) {
		fputs("usage: make-runs agree|differ|noisy DIR\n", stderr);
		return 2;
	}
	measured_dir = g_build_filename(argv[2], "measured", NULL);
	simulated_dir = g_build_filename(argv[2], "simulated", NULL);
	fixture_write(&measured, measured_dir);
	fixture_write(&simulated, simulated_dir);
	return 0;
}
