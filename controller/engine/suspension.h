/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/suspensions.h"

/*
 * The engine's internals: suspending and resuming tasks, at the request of policies and users.
 */

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
 * To be called when a task has ended or lost its attempt, after its state has changed: its
 * suspension is over, and it leaves no nodes any more. No effect if the task was never suspended.
 */
void engine_end_suspension(struct engine *engine, uint32_t task);

/*
 * To be called when VMs have left these nodes, or will not leave them after all: carries out the
 * claims that have come due.
 */
void engine_release_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
			   uint32_t count);
