/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Working memory that a caller hands to a policy: an arena that is emptied at once and keeps what
 * it got, so that after a few mapping events no more memory is asked for. One per thread.
 */
struct scratch;

/* Returns an empty scratch, or NULL when memory is short. */
struct scratch *scratch_new(void);

/* NULL is allowed. Frees everything that came from it. */
void scratch_free(struct scratch *scratch);

/* Takes back everything that was handed out; pointers into it are dangling from now on. */
void scratch_reset(struct scratch *scratch);

/*
 * `count` objects of `size` bytes, aligned for any type, all bytes 0: a policy that forgets to write one does not read
 * what another mapping event left there. A count of 0 gives a valid pointer too. Returns NULL when memory is short or
 * the product overflows. Cost: the array is written once; of a mapping event up to 3 %.
 */
void *scratch_array(struct scratch *scratch, size_t count, size_t size);
