/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/availability.h"

/* The internals of a schedule, shared by its files. */

/* The nodes that are free in a step. */
static inline uint64_t *availability_mask(const struct availability *availability, uint32_t step)
{
	return availability->free + (size_t)step * availability->words;
}

/* The number of nodes in a mask of `words` words. */
static inline uint32_t availability_mask_count(const uint64_t *mask, uint32_t words)
{
	uint32_t count = 0;

	for (uint32_t w = 0; w < words; w++)
		count += (uint32_t)__builtin_popcountll(mask[w]);
	return count;
}

/*
 * Intersects the free nodes over [start of `step`, that + duration_s) into `common`, giving up as
 * soon as fewer than `width` are left. From the rising step on nothing is lost. Returns whether
 * enough are left.
 */
bool availability_fits(const struct availability *availability, uint32_t step, uint32_t width,
		       double duration_s, uint64_t *common);
