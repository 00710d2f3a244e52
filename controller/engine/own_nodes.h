/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: nodes of a task's own, which one task has at a time. These functions are
 * members of the placements `exclusive` and `queued`; placement.h says what they do.
 */

uint32_t own_nodes_width(const struct sched_system *system, const struct sched_task *task);
void own_nodes_estimate(struct engine *engine, uint32_t task);
void own_nodes_allocate(struct engine *engine, uint32_t task, const uint32_t *nodes);
void own_nodes_free(struct engine *engine, uint32_t task, const uint32_t *nodes);
void own_nodes_set_departing(struct engine *engine, uint32_t task, uint32_t cluster,
			     const uint32_t *nodes, uint32_t count, bool leaves);
uint32_t own_nodes_count_waits(const struct engine *engine, uint32_t task, const uint32_t *nodes);
uint32_t own_nodes_find_claimant(struct engine *engine, uint32_t cluster, uint32_t node);
uint32_t own_nodes_find_due_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
				   uint32_t count, uint32_t leaver, uint32_t *ret_tasks);
bool own_nodes_takes_vm(const struct engine *engine, uint32_t cluster, uint32_t node,
			const uint32_t *chosen, uint32_t count);
/* UINT32_MAX: the chosen nodes are idle. */
uint32_t own_nodes_find_full_node(const struct engine *engine, uint32_t task,
				  const uint32_t *nodes);
uint32_t own_nodes_find_left(const struct engine_migration *migration, uint32_t *ret_left);
void own_nodes_note_migration(struct engine *engine, enum engine_task_event event);
bool own_nodes_fits(const struct engine *engine, uint32_t task);
/* As own_nodes_fits(), on idle nodes alone. */
bool own_nodes_fits_idle(const struct engine *engine, uint32_t task);
void own_nodes_fill_snapshot(struct engine *engine, struct sched_snapshot *snapshot);
