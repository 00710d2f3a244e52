/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <errno.h>
#include <string.h>

#include "controller/sched/immediate.h"

/* Shared by the files that implement immediate.h. */

/* Forms the classes, and drops tasks that can earn nothing any more. Returns 0, or -ENOMEM. */
int immediate_form_classes(struct immediate *immediate);

/* Whether two tasks with the same execution time so far always have the same value. */
bool immediate_same_task(const struct sched_task *a, const struct sched_task *b);

/* Makes room for one more element of `size` bytes in an array. Returns 0, or -ENOMEM. */
static inline int immediate_grow(struct arena *arena, void **array, uint32_t count,
				 uint32_t *capacity, size_t size)
{
	const uint32_t more = *capacity ? 2 * *capacity : 64;
	void *larger;

	if (count < *capacity)
		return 0;
	larger = arena_array(arena, more, size);
	if (!larger)
		return -ENOMEM;
	if (count > 0)
		memcpy(larger, *array, count * size);
	*array = larger;
	*capacity = more;
	return 0;
}

/* Adds an empty class or occupant and returns its index; IMMEDIATE_NONE: out of memory. */
static inline uint32_t immediate_add_class(struct immediate *immediate)
{
	if (immediate_grow(immediate->arena, (void **)&immediate->classes, immediate->classes_count,
			   &immediate->classes_capacity, sizeof(*immediate->classes)) < 0)
		return IMMEDIATE_NONE;
	immediate->classes[immediate->classes_count] = (struct immediate_class){
		.former = IMMEDIATE_NONE,
		.suspend = IMMEDIATE_NONE,
	};
	return immediate->classes_count++;
}

static inline uint32_t immediate_add_occupant(struct immediate *immediate)
{
	if (immediate_grow(immediate->arena, (void **)&immediate->occupants,
			   immediate->occupants_count, &immediate->occupants_capacity,
			   sizeof(*immediate->occupants)) < 0)
		return IMMEDIATE_NONE;
	return immediate->occupants_count++;
}

/* Adds an action to the plan. Returns its index; IMMEDIATE_NONE: out of memory. */
static inline uint32_t immediate_add_action(struct immediate *immediate,
					    const struct sched_action *action)
{
	if (immediate_grow(immediate->arena, (void **)&immediate->actions, immediate->actions_count,
			   &immediate->actions_capacity, sizeof(*immediate->actions)) < 0)
		return IMMEDIATE_NONE;
	immediate->actions[immediate->actions_count] = *action;
	return immediate->actions_count++;
}

/* Masks of nodes. */
static inline bool immediate_has(const uint64_t *mask, uint32_t node)
{
	return mask[node / 64] >> (node % 64) & 1;
}

static inline void immediate_set(uint64_t *mask, uint32_t node)
{
	mask[node / 64] |= UINT64_C(1) << (node % 64);
}

static inline void immediate_clear(uint64_t *mask, uint32_t node)
{
	mask[node / 64] &= ~(UINT64_C(1) << (node % 64));
}

/* Adds an occupant to the victims of its cluster; it must be preemptible. */
void immediate_add_victim(struct immediate *immediate, uint32_t occupant);
