/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Working memory that a caller hands to a policy: an arena that is emptied at once and keeps what
 * it got, so that after a few mapping events no more memory is asked for. One per thread.
 */
struct arena;

/* Returns an empty arena, or NULL when memory is short. */
struct arena *arena_new(void);

/* NULL is allowed. Frees everything that came from it. */
void arena_free(struct arena *arena);

/* Takes back everything that was handed out; pointers into it are dangling from now on. */
void arena_reset(struct arena *arena);

/*
 * `count` objects of `size` bytes, aligned for any type, all bytes 0: a policy that forgets to write one does not read
 * what another mapping event left there. A count of 0 gives a valid pointer too. Returns NULL when memory is short or
 * the product overflows. Cost: the array is written once; of a mapping event up to 3 %.
 */
void *arena_array(struct arena *arena, size_t count, size_t size);
