/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_kernel.h"

int main(int argc, char **argv)
{
	static const struct npb_kernel *const kernels[] = {&npb_is, &npb_cg, NULL};

	return npb_program_main(argc, argv, "is_cg", kernels);
}
