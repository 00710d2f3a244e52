/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A list of chunks that only grows. Resetting goes back to the first chunk, rewinding to that of the
 * mark; a chunk that is too small for a request is passed over until then.
 */
#include "controller/sched/arena.h"

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

struct arena {
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

struct arena *arena_new(void)
{
	struct arena *arena = malloc(sizeof(*arena));

	if (!arena)
		return NULL;
	arena->first = arena->current = chunk_new(FIRST_CHUNK);
	if (!arena->first) {
		free(arena);
		return NULL;
	}
	return arena;
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->first, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(arena);
}

void arena_reset(struct arena *arena)
{
	arena->current = arena->first;
	arena->current->used = 0;
}

struct arena_mark arena_mark(const struct arena *arena)
{
	return (struct arena_mark){.chunk = arena->current, .used = arena->current->used};
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
	arena->current = mark.chunk;
	arena->current->used = mark.used;
}

/* Moves on to a chunk with room for `bytes`, a new one at the end if need be. */
static struct chunk *advance(struct arena *arena, size_t bytes)
{
	struct chunk *chunk = arena->current;

	while (chunk->next) {
		chunk = chunk->next;
		chunk->used = 0;
		if (chunk->size >= bytes)
			return arena->current = chunk;
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
	return arena->current = chunk->next;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	const size_t align = alignof(max_align_t);
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
		return NULL;
	bytes = (bytes + align - 1) & ~(align - 1);

	struct chunk *chunk = arena->current;

	if (chunk->size - chunk->used < bytes) {
		chunk = advance(arena, bytes);
		if (!chunk)
			return NULL;
	}
	void *array = chunk->bytes + chunk->used;

	chunk->used += bytes;
	return memset(array, 0, bytes);
}
