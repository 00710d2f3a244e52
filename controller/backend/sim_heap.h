/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The events to come in a simulation: at most one instant per task, the earliest first; of equal
 * instants the one with the lower order first. A task's instant can be removed at any time.
 */
struct sim_heap_entry {
	double time_s;
	uint64_t order; /* different for every task */
	uint32_t task;
};

struct sim_heap {
	uint32_t count;
	struct sim_heap_entry *entries;
	uint32_t *places; /* per task: its index in `entries`; valid while it is in the heap */
};

/* Empty, with room for `tasks_max` tasks; indices of tasks are below it. */
void sim_heap_init(struct sim_heap *heap, uint32_t tasks_max);
void sim_heap_finish(struct sim_heap *heap);

/* Adds a task that is not in the heap. */
void sim_heap_add(struct sim_heap *heap, const struct sim_heap_entry *entry);

/* Removes a task that is in the heap. */
void sim_heap_remove(struct sim_heap *heap, uint32_t task);

/* The next entry, or NULL. Valid until the next change. */
static inline const struct sim_heap_entry *sim_heap_first(const struct sim_heap *heap)
{
	return heap->count > 0 ? heap->entries : (const struct sim_heap_entry *)0;
}
