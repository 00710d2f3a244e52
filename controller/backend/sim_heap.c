/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/backend/sim_heap.h"

#include <glib.h>

#include "controller/sched/heap.h"

static bool before(const struct sim_heap_entry *a, const struct sim_heap_entry *b)
{
	return a->time_s != b->time_s ? a->time_s < b->time_s : a->order < b->order;
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
	uint32_t i = heap->count++;

	HEAP_UP(heap->entries, i, entry, before, heap->places[heap->entries[i].task] = i);
}

void sim_heap_remove(struct sim_heap *heap, uint32_t task)
{
	uint32_t i = heap->places[task];
	const struct sim_heap_entry last = heap->entries[--heap->count];

	if (i == heap->count)
		return;
	HEAP_UP(heap->entries, i, &last, before, heap->places[heap->entries[i].task] = i);
	HEAP_DOWN(heap->entries, heap->count, i, &last, before,
		  heap->places[heap->entries[i].task] = i);
}
