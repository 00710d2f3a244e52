/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Binary heaps in arrays; the first entry is on top. Both macros move `*entry`, which lies outside
 * the array, from the free index `i`, a uint32_t variable, to where it belongs, and leave its index
 * in `i`. `before(a, b)` tells whether the entry `a` comes before `b`. `note` is an expression that
 * is evaluated after entries[i] was set: for heaps that know the indices of their entries, else 0.
 * They are macros because the orders have to be inlined: heaps take a good part of the time of a
 * mapping event.
 */
#define HEAP_UP(entries, i, entry, before, note)                                                   \
	do {                                                                                       \
		for (; (i) > 0 && before((entry), &(entries)[((i)-1) / 2]); (i) = ((i)-1) / 2) {   \
			(entries)[i] = (entries)[((i)-1) / 2];                                     \
			(void)(note);                                                              \
		}                                                                                  \
		(entries)[i] = *(entry);                                                           \
		(void)(note);                                                                      \
	} while (0)

/* The heap has `count` entries. Those below `i` are in order. */
#define HEAP_DOWN(entries, count, i, entry, before, note)                                          \
	do {                                                                                       \
		for (uint32_t child; (child = 2 * (i) + 1) < (count); (i) = child) {               \
			if (child + 1 < (count) &&                                                 \
			    before(&(entries)[child + 1], &(entries)[child]))                      \
				child++;                                                           \
			if (!before(&(entries)[child], (entry)))                                   \
				break;                                                             \
			(entries)[i] = (entries)[child];                                           \
			(void)(note);                                                              \
		}                                                                                  \
		(entries)[i] = *(entry);                                                           \
		(void)(note);                                                                      \
	} while (0)
