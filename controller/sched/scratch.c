/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A list of chunks that only grows. Resetting goes back to the first chunk; a chunk that is too
 * small for a request is passed over until the next reset.
 */
#include "controller/sched/scratch.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a mapping event of the testbed; later chunks double. */
#define FIRST_CHUNK 65536

struct chunk {
	struct chunk *next;
	size_t size;
	size_t used;
	alignas(max_align_t) unsigned char bytes[];
};

struct scratch {
	struct chunk *first;
	struct chunk *current;
};

static struct chunk *chunk_new(size_t size)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->next = NULL;
	chunk->size = size;
	chunk->used = 0;
	return chunk;
}

struct scratch *scratch_new(void)
{
	struct scratch *scratch = malloc(sizeof(*scratch));

	if (!scratch)
		return NULL;
	scratch->first = scratch->current = chunk_new(FIRST_CHUNK);
	if (!scratch->first) {
		free(scratch);
		return NULL;
	}
	return scratch;
}

void scratch_free(struct scratch *scratch)
{
	if (!scratch)
		return;
	for (struct chunk *chunk = scratch->first, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(scratch);
}

void scratch_reset(struct scratch *scratch)
{
	scratch->current = scratch->first;
	scratch->current->used = 0;
}

/* Moves on to a chunk with room for `bytes`, a new one at the end if need be. */
static struct chunk *advance(struct scratch *scratch, size_t bytes)
{
	struct chunk *chunk = scratch->current;

	while (chunk->next) {
		chunk = chunk->next;
		chunk->used = 0;
		if (chunk->size >= bytes)
			return scratch->current = chunk;
	}
	size_t size = chunk->size;

	while (size < bytes || size == chunk->size) {
		if (size > SIZE_MAX / 4)
			return NULL;
		size *= 2;
	}
	chunk->next = chunk_new(size);
	if (!chunk->next)
		return NULL;
	return scratch->current = chunk->next;
}

void *scratch_array(struct scratch *scratch, size_t count, size_t size)
{
	const size_t align = alignof(max_align_t);
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
		return NULL;
	bytes = (bytes + align - 1) & ~(align - 1);

	struct chunk *chunk = scratch->current;

	if (chunk->size - chunk->used < bytes) {
		chunk = advance(scratch, bytes);
		if (!chunk)
			return NULL;
	}
	void *array = chunk->bytes + chunk->used;

	chunk->used += bytes;
	return memset(array, 0, bytes);
}
