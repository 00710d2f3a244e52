/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One program under several names, since the MPI library that is linked in makes up nearly all of
 * its size: the name that it is called by says what it runs.
 */
#include <stdio.h>
#include <string.h>

#include "benchmarks/npb/npb_kernel.h"

struct program {
	const char *name;
	const struct npb_kernel *kernels[3]; /* NULL-terminated */
};

static const struct program programs[] = {
	{"cg", {&npb_cg}}, {"ep", {&npb_ep}}, {"is", {&npb_is}}, {"is_cg", {&npb_is, &npb_cg}},
	{"mg", {&npb_mg}},
};

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i].name, name) == 0)
			return npb_program_main(argc, argv, name, programs[i].kernels);
	fprintf(stderr, "%s: nothing to run by this name: call it as cg, ep, is, is_cg or mg\n",
		name);
	return 2;
}
