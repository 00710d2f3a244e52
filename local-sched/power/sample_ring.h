/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The last power samples of a cluster's hosts, numbered without holes. The oldest are overwritten.
 * A reader that asks for overwritten samples gets the oldest that exist.
 */
struct sample_ring_entry {
	uint64_t seq;
	uint32_t host; /* index */
	int64_t t_ns;
	int64_t mw;
	uint64_t energy_uj; /* the host's counter just after the sample */
	bool gap;           /* the interval that it ends is a gap */
};

struct sample_ring;
typedef struct sample_ring sample_ring_t;

/* Creates an empty ring of `capacity` > 0 entries. Its first entry gets the number `first_seq`. */
struct sample_ring *sample_ring_new(uint32_t capacity, uint64_t first_seq);

/* As given to sample_ring_new(). */
uint32_t sample_ring_capacity(const struct sample_ring *ring);

/* NULL is allowed. */
void sample_ring_free(struct sample_ring *ring);

/* Appends an entry with the next number as its `seq`, and returns the number. */
uint64_t sample_ring_push(struct sample_ring *ring, const struct sample_ring_entry *entry);

/* The number of the last entry that was pushed; first_seq - 1: none was. */
uint64_t sample_ring_last_seq(const struct sample_ring *ring);

/*
 * Continues the numbers at `next_seq`, which must not be below the next number. If that leaves a
 * hole, the entries before it are dropped.
 */
void sample_ring_skip_to(struct sample_ring *ring, uint64_t next_seq);

/* The first entry with a number above `after`, or NULL. Valid until the next push. */
const struct sample_ring_entry *sample_ring_after(const struct sample_ring *ring, uint64_t after);
