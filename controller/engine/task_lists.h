/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/engine/engine.h"
#include "controller/sched/model.h"

/*
 * The lists in which the engine has its tasks: sets, tasks on nodes, and tasks that wait.
 */

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

/*
 * The engine's internals: the tasks that wait. Policies see the mappable tasks, place-holders
 * included. The tasks that a user holds are parked: policies do not see them.
 */
struct waiting;

/* Initialises engine->waiting, for tasks below tasks_max: none waits. */
void engine_waiting_init(struct engine *engine, uint32_t tasks_max);
void engine_waiting_finish(struct engine *engine);

/*
 * The mappable tasks, in the order that snapshots have, *ret_count of them. Borrowed until one is
 * added or removed. O(1), or O(n log n) after a change.
 */
const struct sched_task *const *engine_list_waiting(struct engine *engine, uint32_t *ret_count);

/*
 * The same tasks in the order in which they arrived, if none was added or removed since
 * engine_list_waiting(). Otherwise they are in no order, among former ones, and only their states
 * tell which still wait. *ret_listed in all. O(1).
 */
const uint32_t *engine_waiting_listed(const struct engine *engine, uint32_t *ret_listed);

/* How many tasks are mappable. O(1). */
uint32_t engine_waiting_count(const struct engine *engine);

/* Whether a task is mappable or parked. O(1). */
bool engine_has_waiting(const struct engine *engine);

/* Inserts a task into the mappable ones; and removes it, if it is one. */
void engine_enqueue_waiting(struct engine *engine, uint32_t task);
void engine_dequeue_waiting(struct engine *engine, uint32_t task);

/*
 * Moves a user's request about a task on by an event; the only writer of its state. Returns whether
 * it is a move.
 */
bool engine_move_request(struct engine *engine, uint32_t task, enum request_event event);

/* Count one held waiting task more, and one fewer. */
void engine_park(struct engine *engine);
void engine_unpark(struct engine *engine);

/* For a full state, after the tasks. */
json_t *engine_save_waiting(struct engine *engine);
bool engine_load_waiting(struct engine *engine, const json_t *state);
