/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/heap.h"

/*
 * Heaps of the entries that the greedy framework (greedy.h) still has to consider. Their orders are
 * inlined at the callers: the heap takes a good part of the time of a mapping event.
 */

/* An option of a task, or a whole task, with its value when it was last computed. */
struct greedy_entry {
	/* rank_key() of the value; in the heap of filtered options rank_key() of energy_key(). */
	double key;
	uint32_t task; /* index in mapping->tasks, which are ordered by arrival, then id */
	/* Index in the row's options, which are ordered by cluster, then P-state. */
	uint32_t option;
	uint32_t version; /* of the cluster's schedule */
};

/* The first entry is on top. */
struct greedy_heap {
	struct greedy_entry *entries;
	uint32_t count;
};

/* Whether `a` comes before `b`. */
typedef bool (*greedy_before_f)(const struct greedy_entry *a, const struct greedy_entry *b);

/* The tie-breaking rule of policy.h. */
static inline bool greedy_better(const struct greedy_entry *a, const struct greedy_entry *b)
{
	if (a->key != b->key)
		return a->key > b->key;
	if (a->task != b->task)
		return a->task < b->task;
	return a->option < b->option;
}

/* Lowest key first. */
static inline bool greedy_cheaper(const struct greedy_entry *a, const struct greedy_entry *b)
{
	return a->key < b->key;
}

/* Moves entry `i` down to where it belongs. */
static inline void greedy_heap_sift(struct greedy_heap *heap, uint32_t i, greedy_before_f before)
{
	const struct greedy_entry entry = heap->entries[i];

	HEAP_DOWN(heap->entries, heap->count, i, &entry, before, 0);
}

/* Makes a heap of entries in any order. */
static inline void greedy_heap_order(struct greedy_heap *heap, greedy_before_f before)
{
	for (uint32_t i = heap->count / 2; i-- > 0;)
		greedy_heap_sift(heap, i, before);
}

/* Adds an entry; there must be room for it. */
static inline void greedy_heap_push(struct greedy_heap *heap, const struct greedy_entry *entry,
				    greedy_before_f before)
{
	uint32_t i = heap->count++;

	HEAP_UP(heap->entries, i, entry, before, 0);
}

/* Removes the entry on top; there must be one. */
static inline void greedy_heap_remove(struct greedy_heap *heap, greedy_before_f before)
{
	heap->entries[0] = heap->entries[--heap->count];
	if (heap->count > 0)
		greedy_heap_sift(heap, 0, before);
}
