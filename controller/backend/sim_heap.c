/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/sim_heap.h"

#include <glib.h>

static bool before(const struct sim_heap_entry *a, const struct sim_heap_entry *b)
{
	return a->time_s != b->time_s ? a->time_s < b->time_s : a->order < b->order;
}

static void place(struct sim_heap *heap, uint32_t i, const struct sim_heap_entry *entry)
{
	heap->entries[i] = *entry;
	heap->places[entry->task] = i;
}

static void sift_up(struct sim_heap *heap, uint32_t i)
{
	const struct sim_heap_entry entry = heap->entries[i];

	for (; i > 0 && before(&entry, &heap->entries[(i - 1) / 2]); i = (i - 1) / 2)
		place(heap, i, &heap->entries[(i - 1) / 2]);
	place(heap, i, &entry);
}

static void sift_down(struct sim_heap *heap, uint32_t i)
{
	const struct sim_heap_entry entry = heap->entries[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    before(&heap->entries[child + 1], &heap->entries[child]))
			child++;
		if (!before(&heap->entries[child], &entry))
			break;
		place(heap, i, &heap->entries[child]);
		i = child;
	}
	place(heap, i, &entry);
}

void sim_heap_init(struct sim_heap *heap, uint32_t tasks_max)
{
	heap->count = 0;
	heap->entries = g_new(struct sim_heap_entry, tasks_max);
	heap->places = g_new(uint32_t, tasks_max);
}

void sim_heap_finish(struct sim_heap *heap)
{
	g_free(heap->entries);
	g_free(heap->places);
}

void sim_heap_add(struct sim_heap *heap, const struct sim_heap_entry *entry)
{
	heap->entries[heap->count] = *entry;
	sift_up(heap, heap->count++);
}

void sim_heap_remove(struct sim_heap *heap, uint32_t task)
{
	const uint32_t i = heap->places[task];

	heap->count--;
	if (i == heap->count)
		return;
	place(heap, i, &heap->entries[heap->count]);
	sift_down(heap, i);
	sift_up(heap, heap->places[heap->entries[i].task]);
}
