/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

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
