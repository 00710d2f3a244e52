/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/preempt_heap.h"

/*
 * A heap of classes, each at most once, that knows where every class is: an entry can be given
 * another value, or be taken out, in log n.
 */
struct preempt_queue {
	struct preempt_heap heap;
	uint32_t capacity;
	uint32_t *places; /* per class: of its entry, + 1; 0: none */
};

/* Puts an entry on a place of the heap. */
static inline void preempt_queue_set(struct preempt_queue *queue, uint32_t i,
				     const struct preempt_entry *entry)
{
	queue->heap.entries[i] = *entry;
	queue->places[entry->class] = i + 1;
}

/* Moves `entry` from the free place `i` to where it belongs. */
static inline void preempt_queue_settle(struct preempt_queue *queue, uint32_t i,
					const struct preempt_entry *entry)
{
	const struct preempt_entry *entries = queue->heap.entries;

	for (; i > 0 && preempt_before(entry, &entries[(i - 1) / 2]); i = (i - 1) / 2)
		preempt_queue_set(queue, i, &entries[(i - 1) / 2]);
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= queue->heap.count)
			break;
		if (child + 1 < queue->heap.count &&
		    preempt_before(&entries[child + 1], &entries[child]))
			child++;
		if (!preempt_before(&entries[child], entry))
			break;
		preempt_queue_set(queue, i, &entries[child]);
		i = child;
	}
	preempt_queue_set(queue, i, entry);
}

/* Enters a class that has no entry yet. Returns 0, or -ENOMEM. */
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

/* Gives a class that has an entry another one. */
static inline void preempt_queue_change(struct preempt_queue *queue,
					const struct preempt_entry *entry)
{
	preempt_queue_settle(queue, queue->places[entry->class] - 1, entry);
}

/* Takes out the entry of a class, which has one. */
static inline void preempt_queue_remove(struct preempt_queue *queue, uint32_t class)
{
	const uint32_t i = queue->places[class] - 1;
	const struct preempt_entry last = queue->heap.entries[--queue->heap.count];

	queue->places[class] = 0;
	if (last.class != class)
		preempt_queue_settle(queue, i, &last);
}

/* Makes a heap again of entries that got other values. */
static inline void preempt_queue_order(struct preempt_queue *queue)
{
	preempt_heap_order(&queue->heap);
	for (uint32_t i = 0; i < queue->heap.count; i++)
		queue->places[queue->heap.entries[i].class] = i + 1;
}
