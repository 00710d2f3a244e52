/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/sched/model.h"

/*
 * What occupies nodes, in the order in which it came to them. Taking a task out costs nothing: the
 * list closes up when it is looked at.
 */
struct running_list {
	uint32_t count;  /* members */
	uint32_t listed; /* entries, holes (task NULL) among them */
	uint32_t room;
	struct sched_running *entries;
	uint32_t *places; /* per task: its entry + 1; 0: none */
};

/* Empty, for tasks whose ids are below tasks_count. */
void running_list_init(struct running_list *list, uint32_t tasks_count);
void running_list_finish(struct running_list *list);

/* Adds a task that is not in, at the end; `running` is copied. */
void running_list_add(struct running_list *list, const struct sched_running *running);

/* The same, before those that start later. */
void running_list_insert(struct running_list *list, const struct sched_running *running);

/* No effect when the task is not in. */
void running_list_remove(struct running_list *list, uint32_t task);

/* The entry of a task, or NULL. Valid until the next change or running_list_settle(). */
struct sched_running *running_list_find(const struct running_list *list, uint32_t task);

/* Closes up: the first list->count entries are then the members. */
void running_list_settle(struct running_list *list);
