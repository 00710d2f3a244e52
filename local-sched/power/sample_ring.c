/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/sample_ring.h"

#include <glib.h>

struct sample_ring {
	uint64_t next_seq;
	uint32_t capacity;
	uint32_t count;                     /* entries next_seq - count to next_seq - 1 exist */
	struct sample_ring_entry entries[]; /* entry seq is at seq % capacity */
};

struct sample_ring *sample_ring_new(uint32_t capacity, uint64_t first_seq)
{
	struct sample_ring *ring =
		g_malloc0(sizeof *ring + capacity * sizeof(struct sample_ring_entry));

	ring->capacity = capacity;
	ring->next_seq = first_seq;
	return ring;
}

void sample_ring_free(struct sample_ring *ring)
{
	g_free(ring);
}

uint32_t sample_ring_capacity(const struct sample_ring *ring)
{
	return ring->capacity;
}

uint64_t sample_ring_push(struct sample_ring *ring, const struct sample_ring_entry *entry)
{
	struct sample_ring_entry *place = &ring->entries[ring->next_seq % ring->capacity];

	*place = *entry;
	place->seq = ring->next_seq++;
	if (ring->count < ring->capacity)
		ring->count++;
	return place->seq;
}

uint64_t sample_ring_last_seq(const struct sample_ring *ring)
{
	return ring->next_seq - 1;
}

void sample_ring_skip_to(struct sample_ring *ring, uint64_t next_seq)
{
	if (next_seq <= ring->next_seq)
		return;
	ring->next_seq = next_seq;
	ring->count = 0;
}

const struct sample_ring_entry *sample_ring_after(const struct sample_ring *ring, uint64_t after)
{
	const uint64_t oldest = ring->next_seq - ring->count;
	const uint64_t wanted = after < oldest ? oldest : after + 1;

	if (after == UINT64_MAX || wanted >= ring->next_seq)
		return NULL;
	return &ring->entries[wanted % ring->capacity];
}
