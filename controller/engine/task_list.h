/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A set of tasks in the order of their indices, which is that of their arrivals. Adding and
 * removing are O(1); task_list_settle() restores the order (Machovec 2017's systems hold thousands
 * of mappable tasks, and hundreds come and go at one mapping event).
 */
struct task_list {
	uint32_t count;   /* members */
	uint32_t listed;  /* entries of `ids`, including former members */
	uint32_t ordered; /* number of leading entries that are in order */
	bool changed;     /* since the last task_list_settle() */
	uint32_t *ids;
	uint8_t *flags; /* per task */
};

/* Initialises an empty list for indices below tasks_count. */
void task_list_init(struct task_list *list, uint32_t tasks_count);
void task_list_finish(struct task_list *list);

/* No effect on a member. */
void task_list_add(struct task_list *list, uint32_t task);

/* No effect on a task that is not a member. */
void task_list_remove(struct task_list *list, uint32_t task);

/*
 * Sorts list->ids: its first list->count entries are then the members, ascending. Returns whether
 * the members may have changed since the last call.
 */
bool task_list_settle(struct task_list *list);
