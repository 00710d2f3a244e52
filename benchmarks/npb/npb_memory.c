/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "benchmarks/npb/npb_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#define CACHE_LINE 64
#define HUGE_PAGE ((size_t)2 << 20)

void *npb_memory_alloc(size_t bytes)
{
	void *memory = NULL;

	if (posix_memalign(&memory, bytes >= HUGE_PAGE ? HUGE_PAGE : CACHE_LINE,
			   bytes > 0 ? bytes : 1) != 0)
		return NULL;
	if (bytes >= HUGE_PAGE) /* a hint: what becomes of it does not matter */
		madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
	return memory;
}
