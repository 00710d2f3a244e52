/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"

/*
 * The tasks that occupy nodes, in the order in which they came to them. Removal is O(1): it leaves
 * a hole, and running_list_settle() closes the holes.
 */
struct running_list {
	uint32_t count;  /* members */
	uint32_t listed; /* entries, including holes (task NULL) */
	uint32_t room;
	struct sched_allocation *entries;
	uint32_t *places; /* per task: its entry + 1; 0: none */
};

/* Initialises an empty list for tasks whose ids are below tasks_count. */
void running_list_init(struct running_list *list, uint32_t tasks_count);
void running_list_finish(struct running_list *list);

/* Appends a task that is not in the list; `running` is copied. */
void running_list_add(struct running_list *list, const struct sched_allocation *running);

/* As running_list_add(), but inserts the task in order of start, before later starts. */
void running_list_insert(struct running_list *list, const struct sched_allocation *running);

/* No effect if the task is not in the list. */
void running_list_remove(struct running_list *list, uint32_t task);

/* The entry of a task, or NULL. Valid until the next change or running_list_settle(). */
struct sched_allocation *running_list_find(const struct running_list *list, uint32_t task);

/* Closes the holes: the first list->count entries are then the members. */
void running_list_settle(struct running_list *list);
