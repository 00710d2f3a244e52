/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The engine's internals: suspending and resuming tasks, at the request of policies and users.
 */

/* suspension.c */

/*
 * How often in a row a suspension, resumption or migration may be rolled back before policies do
 * not try it again. A task whose migrations failed so often is suspended and resumed instead.
 */
#define ENGINE_RETRIES_MAX 3

/* The suspension record of a task, with room for its nodes; allocated if there is none. */
struct engine_suspension *engine_suspension_of(struct engine *engine, uint32_t task);

/*
 * Prepares the suspension of a running task: its nodes may be claimed. The caller flushes the
 * record and then calls engine_launch_suspend(), which asks the backend.
 */
void engine_begin_suspend(struct engine *engine, uint32_t task, bool by_person);
void engine_launch_suspend(struct engine *engine, uint32_t task);

/*
 * Prepares the resumption of a suspended task on nodes of its cluster that are up and not
 * allocated. If nodes are still being left, the task gets a claim instead. The caller flushes the
 * record and then calls engine_launch_resume(), which asks the backend.
 */
void engine_begin_resume(struct engine *engine, uint32_t task, const uint32_t *nodes);
void engine_launch_resume(struct engine *engine, uint32_t task);

/* Cancels the claims to a node. */
void engine_unclaim_node(struct engine *engine, uint32_t cluster, uint32_t node);

/* Cancels a task's claim: the task is mappable again. */
void engine_unclaim(struct engine *engine, uint32_t task);

/*
 * Handles the backend's SUSPENDED, RESUMED and SUSPENSION_FAILED events of the present
 * suspension of the present attempt. Returns whether the task is suspended now,
 * so that its nodes take others.
 */
bool engine_handle_suspension(struct engine *engine, const struct backend_event *event);

/*
 * Cleans up after a task that was suspended, being suspended or being resumed has ended or lost its
 * attempt.
 * To be called after its state has changed from `state`.
 */
void engine_end_suspension(struct engine *engine, uint32_t task, enum engine_task_state state);

/* Puts a suspended task without a claim among the mappable ones, or the held ones. */
void engine_enqueue_suspended(struct engine *engine, uint32_t task);

/* Removes it from there. */
void engine_dequeue_suspended(struct engine *engine, uint32_t task);

/* Sets whether only a user, or the next window, resumes the task. */
void engine_set_held(struct engine *engine, uint32_t task, bool held);

/* Sets whether a user, or a window that has begun, wants the task resumed. */
void engine_set_wanted(struct engine *engine, uint32_t task, bool wanted);

/* Asks the backend to kill the tasks that are suspended or being suspended. */
void engine_kill_suspended(struct engine *engine);

/*
 * To be called when VMs have left these nodes, or will not leave them after all: carries out the
 * claims that have come due.
 */
void engine_release_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
			   uint32_t count);

/* control_running.c */

/* Holds a task that is suspended or being suspended, at a user's request. */
void engine_hold_suspended(struct engine *engine, uint32_t task);

/*
 * Whether a suspended task that is not held is to be resumed without the policy: a user wants it,
 * or the policy does not know suspended tasks, having replaced the policy that suspended it.
 */
bool engine_is_wanted(const struct engine *engine, uint32_t task);

/* Resumes such tasks where nodes are idle. */
void engine_resume_wanted(struct engine *engine);
