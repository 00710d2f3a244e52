/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef NPB_MEMORY_H
#define NPB_MEMORY_H

#include <stddef.h>

/*
 * Memory for large arrays: @bytes (may be 0), not initialised, at least on a cache line; on huge
 * pages where the kernel gives them on request, since random accesses of these kernels would
 * otherwise miss in the TLB. Not a byte more is touched than asked for. Returns NULL when memory
 * runs out; freed with free().
 */
void *npb_memory_alloc(size_t bytes);

#endif
