/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/heap.h"
#include "controller/sched/immediate_private.h"

/* Heaps of classes in the order in which their next tasks are considered (preempt.h). */

/* A way of a class, or a class as a whole, with its value or a bound of it. */
struct preempt_entry {
	double key;       /* rank_key() of the value */
	double arrival_s; /* arrival of the class's next task when the entry was made */
	uint32_t id;      /* id of that task */
	uint32_t class;
	uint32_t way;
};

/* The first entry is on top. */
struct preempt_heap {
	uint32_t count;
	uint32_t capacity;
	struct preempt_entry *entries;
};

/* Whether `a` comes before `b`: higher key, earlier arrival, lower id, lower way. */
static inline bool preempt_before(const struct preempt_entry *a, const struct preempt_entry *b)
{
	if (a->key != b->key)
		return a->key > b->key;
	if (a->arrival_s != b->arrival_s)
		return a->arrival_s < b->arrival_s;
	if (a->id != b->id)
		return a->id < b->id;
	return a->way < b->way;
}

/* Moves entry `i` down to where it belongs. */
static inline void preempt_heap_sift(struct preempt_heap *heap, uint32_t i)
{
	const struct preempt_entry entry = heap->entries[i];

	HEAP_DOWN(heap->entries, heap->count, i, &entry, preempt_before, 0);
}

/* Adds an entry at the end, out of order. Returns 0, or -ENOMEM. */
static inline int preempt_heap_append(struct preempt_heap *heap, struct arena *arena,
				      const struct preempt_entry *entry)
{
	if (immediate_grow(arena, (void **)&heap->entries, heap->count, &heap->capacity,
			   sizeof(*heap->entries)) < 0)
		return -ENOMEM;
	heap->entries[heap->count++] = *entry;
	return 0;
}

/* Makes a heap of the appended entries. */
static inline void preempt_heap_order(struct preempt_heap *heap)
{
	for (uint32_t i = heap->count / 2; i-- > 0;)
		preempt_heap_sift(heap, i);
}

/* Adds an entry where it belongs. Returns 0, or -ENOMEM. */
static inline int preempt_heap_push(struct preempt_heap *heap, struct arena *arena,
				    const struct preempt_entry *entry)
{
	uint32_t i = heap->count;

	if (preempt_heap_append(heap, arena, entry) < 0)
		return -ENOMEM;
	HEAP_UP(heap->entries, i, entry, preempt_before, 0);
	return 0;
}

/* Removes the entry on top; there must be one. */
static inline void preempt_heap_remove(struct preempt_heap *heap)
{
	heap->entries[0] = heap->entries[--heap->count];
	if (heap->count > 0)
		preempt_heap_sift(heap, 0);
}

/* Whether all tasks of a class are placed or have left the event. */
static inline bool preempt_exhausted(const struct immediate *immediate, uint32_t class)
{
	return immediate->classes[class].next == immediate->classes[class].count;
}

/* The entry of a class, for its next task. */
static inline struct preempt_entry preempt_entry_of(const struct immediate *immediate,
						    uint32_t class, uint32_t way, double key)
{
	const struct sched_task *task = immediate_head(immediate, class);

	return (struct preempt_entry){key, task->arrival_s, task->id, class, way};
}
