/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The inside of the engine: nodes that tasks share. What their hosts have promised, yields and virtual times.
 */

/* shared_nodes.c: only yields, virtual times and init have a meaning where nodes have one task. */

/* Where the system is shared: no host has promised anything. */
void engine_shared_nodes_init(struct engine *engine);
void engine_shared_nodes_finish(struct engine *engine);

/* The memory of a task's VMs is promised on these hosts, or free again. */
void engine_reserve_memory(struct engine *engine, uint32_t task, const uint32_t *nodes);
void engine_free_memory(struct engine *engine, uint32_t task, const uint32_t *nodes);

/* The task of the record begins to leave its hosts, or is off them. */
void engine_leave_memory(struct engine *engine, const struct engine_suspension *record,
			 bool leaves);

/* VMs of the task, one per entry of the list, begin to leave these hosts, or are off them. */
void engine_leave_shared_nodes(struct engine *engine, uint32_t task, const uint32_t *nodes,
			uint32_t count, bool leaves);

/* Whether a running task's VMs can go to these hosts beside all that is there, or promised there. */
bool engine_shared_nodes_have_room(const struct engine *engine, uint32_t task, const uint32_t *nodes);
/* The first of them that has no room; UINT32_MAX: all have. */
uint32_t engine_find_full_node(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/* How many of the task's VMs are to come to hosts that are too full while others leave them. */
uint32_t engine_overfull_nodes(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/* Something left: finds the claims that have come due. Returns their number; room for all. */
uint32_t engine_unblock_shared_nodes(struct engine *engine, uint32_t *ret_tasks);

/* Takes back the claims to a host. */
void engine_unclaim_shared_node(struct engine *engine, uint32_t node);

/* The virtual time of a task at `time_s`. */
double engine_virtual_s(const struct engine_task *task, double time_s);

/* The virtual time of a task goes on in `pause_s` (>= 0), or stands still from `time_s` on. */
void engine_begin_sharing(struct engine *engine, uint32_t task, double pause_s);
void engine_stop_sharing(struct engine *engine, uint32_t task, double time_s);

/* The yield of a task from now on; the backend is told by the caller. */
void engine_set_yield(struct engine *engine, uint32_t task, double yield);

/* A waiting task is put off once more. */
void engine_put_off(struct engine *engine, uint32_t task, double until_s);

/* The waiting tasks that were put off, into engine->deferred. Returns their number. */
uint32_t engine_list_deferred(struct engine *engine);

/* The earliest time after `after_s` at which a deferred task is to be considered; INFINITY: none. */
double engine_next_deferred_s(const struct engine *engine, double after_s);

/* Whether hosts can keep what they have promised: NULL, or what is too much. */
const char *engine_validate_shares(const struct engine *engine);
