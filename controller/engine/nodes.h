/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: the nodes of all clusters, with their states and the tasks that have
 * them. Which tasks are on hosts that several share only placement_shared.c knows.
 */
struct nodes;

/* No task has the node, or is leaving it. */
#define ENGINE_NO_TASK UINT32_MAX

/*
 * Claims to nodes.
 *
 * A task that is being suspended leaves the `nodes` of its engine_suspension. Until its VMs are
 * off such a node, it is the node's leaver, while the next task may have the node already. A task
 * that gets nodes which another task, or itself, still has to leave has a claim: its state is in
 * ENGINE_TASK_WITH_CLAIM, it is in engine.running, and engine_claim_waits() counts down the nodes
 * that are still to be left, and 1 more until the task is off its own. At 0 the claim is carried
 * out. It is taken back when one of its nodes goes down, or when the other task does not leave
 * after all.
 */

/*
 * Initialises the nodes of the system: all are up, and no task has any. There are tasks below
 * tasks_max.
 */
void engine_nodes_init(struct engine *engine, uint32_t tasks_max);
void engine_nodes_finish(struct engine *engine);

/* How many nodes all clusters have together. */
uint32_t engine_nodes_count(const struct engine *engine);

/* The task that has a node or claims it; ENGINE_NO_TASK: none. O(1). */
uint32_t engine_node_task(const struct engine *engine, uint32_t cluster, uint32_t node);
void engine_set_node_task(struct engine *engine, uint32_t cluster, uint32_t node, uint32_t task);

/* The task that is leaving a node; ENGINE_NO_TASK: none. O(1). */
uint32_t engine_node_leaver(const struct engine *engine, uint32_t cluster, uint32_t node);
void engine_set_node_leaver(struct engine *engine, uint32_t cluster, uint32_t node, uint32_t task);

/*
 * For how many nodes a task with a claim still waits; on shared hosts, for how many of
 * its VMs. At 0 the claim is to be carried out. O(1).
 */
uint32_t engine_claim_waits(const struct engine *engine, uint32_t task);
void engine_set_claim_waits(struct engine *engine, uint32_t task, uint32_t count);

/*
 * Moves a node on; the only writer of its state. Returns whether it is a move. `reason` (copied) is
 * why it is drained, and is dropped with NODE_UNDRAIN.
 */
bool engine_move_node(struct engine *engine, const struct sched_node *node, enum node_event event,
		      const char *reason);

/* Whether a node takes tasks: it is up. O(1). */
bool engine_node_takes_tasks(const struct engine *engine, uint32_t cluster, uint32_t node);

/* The nodes of a cluster, to look at many of them. Borrowed. O(1). */
const struct engine_node *engine_nodes_of(const struct engine *engine, uint32_t cluster);

/* Whether a node takes tasks, no task has it, and none is leaving it. O(1). */
bool engine_node_idle(const struct engine *engine, uint32_t cluster, uint32_t node);

/*
 * The nodes that take no tasks, in no order, *ret_count of them. The array has room for as many
 * entries more as there are nodes. Borrowed until a node moves on.
 */
struct sched_node *engine_closed_nodes(const struct engine *engine, uint32_t *ret_count);

/*
 * The number of nodes of a cluster that take tasks or, with `idle`, are idle. The counts are kept,
 * because clients ask for thousands of tasks why they wait. O(1), or O(nodes) after a change.
 */
uint32_t engine_count_nodes(const struct engine *engine, uint32_t cluster, bool idle);

/* Whether all nodes of the task's placement are idle. */
bool engine_place_free(const struct engine *engine, uint32_t task);

/* Lists of nodes. */

/* Whether two lists of nodes of a cluster have a node in common. */
bool engine_nodes_meet(const uint32_t *nodes, uint32_t count, const uint32_t *others,
		       uint32_t others_count);

/* Sorts the nodes of a task, which are ascending where tasks do not share them. */
void engine_sort_nodes(uint32_t *nodes, uint32_t count);

/* For a full state: nodes that are not idle, and the order of nodes that take no tasks. */
json_t *engine_save_nodes(const struct engine *engine);
bool engine_load_nodes(struct engine *engine, const json_t *state);
