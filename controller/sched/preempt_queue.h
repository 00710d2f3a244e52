/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/preempt_heap.h"

/*
 * A heap of classes, each at most once, with the position of every class: changing or removing an
 * entry costs log n.
 */
struct preempt_queue {
	struct preempt_heap heap;
	uint32_t capacity;
	uint32_t *places; /* per class: index of its entry, + 1; 0: none */
};

/* Moves `entry` from the free index `i` to where it belongs. */
static inline void preempt_queue_settle(struct preempt_queue *queue, uint32_t i,
					const struct preempt_entry *entry)
{
	struct preempt_entry *entries = queue->heap.entries;

	HEAP_UP(entries, i, entry, preempt_before, queue->places[entries[i].class] = i + 1);
	HEAP_DOWN(entries, queue->heap.count, i, entry, preempt_before,
		  queue->places[entries[i].class] = i + 1);
}

/* Adds an entry for a class that has none yet. Returns 0, or -ENOMEM. */
static inline int preempt_queue_add(struct preempt_queue *queue, struct arena *arena,
				    const struct preempt_entry *entry)
{
	while (queue->capacity <= entry->class) {
		const uint32_t before = queue->capacity;

		if (immediate_grow(arena, (void **)&queue->places, before, &queue->capacity,
				   sizeof(*queue->places)) < 0)
			return -ENOMEM;
		memset(queue->places + before, 0,
		       (queue->capacity - before) * sizeof(*queue->places));
	}
	if (preempt_heap_append(&queue->heap, arena, entry) < 0)
		return -ENOMEM;
	preempt_queue_settle(queue, queue->heap.count - 1, entry);
	return 0;
}

/* Replaces the entry of a class. */
static inline void preempt_queue_change(struct preempt_queue *queue,
					const struct preempt_entry *entry)
{
	preempt_queue_settle(queue, queue->places[entry->class] - 1, entry);
}

/* Removes the entry of a class, which must have one. */
static inline void preempt_queue_remove(struct preempt_queue *queue, uint32_t class)
{
	const uint32_t i = queue->places[class] - 1;
	const struct preempt_entry last = queue->heap.entries[--queue->heap.count];

	queue->places[class] = 0;
	if (last.class != class)
		preempt_queue_settle(queue, i, &last);
}

/* Restores the heap after the values of entries were changed. */
static inline void preempt_queue_order(struct preempt_queue *queue)
{
	preempt_heap_order(&queue->heap);
	for (uint32_t i = 0; i < queue->heap.count; i++)
		queue->places[queue->heap.entries[i].class] = i + 1;
}
