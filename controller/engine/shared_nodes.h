/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The engine's internals: hosts that tasks share, with promised memory, yields and virtual times.
 */

/*
 * shared_nodes.c. Where nodes are not shared, only init and the functions on yields and virtual
 * times may be called.
 */

/* Initialises the hosts of a shared system: no memory is promised. */
void engine_shared_nodes_init(struct engine *engine);
void engine_shared_nodes_finish(struct engine *engine);

/* Promises the memory of a task's VMs on these hosts, one per VM (`more`), or frees it again. */
void engine_promise_memory(struct engine *engine, uint32_t task, const uint32_t *nodes, bool more);

/*
 * Notes that VMs of the task, one per entry of the list, begin to leave these hosts (`leaves`), or
 * are off them.
 */
void engine_leave_shared_nodes(struct engine *engine, uint32_t task, const uint32_t *nodes,
			       uint32_t count, bool leaves);

/*
 * Whether a running task's VMs fit on these hosts beside the memory that is used or promised there.
 */
bool engine_shared_nodes_have_room(const struct engine *engine, uint32_t task,
				   const uint32_t *nodes);
/* The first of these hosts that has no room; UINT32_MAX: all have. */
uint32_t engine_find_full_node(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/*
 * How many of the task's VMs are to come to hosts that have no room until other VMs have left them.
 */
uint32_t engine_overfull_nodes(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/*
 * To be called after VMs left hosts. Writes the tasks whose claims have come due to ret_tasks,
 * which has room for all tasks, and returns their number.
 */
uint32_t engine_unblock_shared_nodes(struct engine *engine, uint32_t *ret_tasks);

/* A task with a claim to a host, or ENGINE_NO_TASK. */
uint32_t engine_find_claimant(struct engine *engine, uint32_t node);

/* The virtual time of a task at `time_s`, in seconds. */
double engine_virtual_s(const struct engine_task *task, double time_s);

/*
 * Let the virtual time of a task advance from pause_s (>= 0) seconds from now on; and stop it at
 * `time_s`.
 */
void engine_begin_sharing(struct engine *engine, uint32_t task, double pause_s);
void engine_stop_sharing(struct engine *engine, uint32_t task, double time_s);

/* Sets the yield of a task from now on; the caller tells the backend. */
void engine_set_yield(struct engine *engine, uint32_t task, double yield);

/* Defers a waiting task once more, until until_s. */
void engine_defer(struct engine *engine, uint32_t task, double until_s);

/* Writes the deferred waiting tasks to engine->deferred. Returns their number. */
uint32_t engine_list_deferred(struct engine *engine);

/*
 * The earliest time after `after_s` at which a deferred task is considered again; INFINITY: none.
 */
double engine_next_deferred_s(const struct engine *engine, double after_s);

/* NULL if no host has promised more memory or CPU than it has, else what is too much. */
const char *engine_validate_shares(const struct engine *engine);
