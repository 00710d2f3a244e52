/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Working memory that a caller gives to a policy: an arena that is emptied as a whole and keeps its
 * memory, so that after a few mapping events no more is allocated. One per thread.
 */
struct arena;

/* Returns an empty arena, or NULL if memory is short. */
struct arena *arena_new(void);

/* NULL is allowed. Frees everything that came from it. */
void arena_free(struct arena *arena);

/* Frees all arrays of the arena at once; pointers to them are invalid from now on. */
void arena_reset(struct arena *arena);

/* How much of an arena is used. */
struct arena_mark {
	void *chunk;
	size_t used;
};

/* The present use, to which arena_rewind() goes back. */
struct arena_mark arena_mark(const struct arena *arena);

/*
 * Frees the arrays that were made since the mark, which was taken since the last arena_reset();
 * pointers to them are invalid from now on.
 */
void arena_rewind(struct arena *arena, struct arena_mark mark);

/*
 * An array of `count` objects of `size` bytes, aligned for any type, all bytes 0: a policy that
 * forgets to write an object does not read data of another mapping event. A count of 0 gives a
 * valid pointer too. Returns NULL if memory is short or the product overflows. Cost: the array is
 * written once; up to 3 % of a mapping event.
 */
void *arena_array(struct arena *arena, size_t count, size_t size);
