/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_finalize.h"

#include <mpi.h>
#include <stdbool.h>

/* PMI's own name, and what the linker makes of it. */
int __real_PMI_Barrier(void);
int __wrap_PMI_Barrier(void);

/* PMI_SUCCESS */
#define SUCCESS 0

static bool finalizing;

int __wrap_PMI_Barrier(void)
{
	return finalizing ? SUCCESS : __real_PMI_Barrier();
}

void npb_finalize(void)
{
	finalizing = true;
	MPI_Finalize();
}
