/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that one task has at a time. */
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/migration.h"
#include "controller/engine/nodes.h"
#include "controller/engine/own_nodes.h"
#include "controller/engine/suspensions.h"

/* Nodes of a task. */

uint32_t own_nodes_width(const struct sched_system *system, const struct sched_task *task)
{
	uint32_t width = 0;
	uint32_t count;
	const struct sched_option *options;

	if (task->row >= system->rows_count)
		return 0; /* its type is no longer configured: it cannot be placed */
	options = sched_system_options(system, task->row, &count);
	for (uint32_t i = 0; i < count; i++)
		width = MAX(width, options[i].nodes);
	return width;
}

void own_nodes_estimate(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	const struct sched_option *option =
		sched_system_option(engine->setup.system, task->task->row, task->cluster,
				    task->pstate);

	task->etc_s = option ? option->etc_s : (double)INFINITY;
	task->eec_j = option ? option->eec_j : 0;
}

void own_nodes_allocate(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	engine_note_change(engine);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		engine_set_node_task(engine, task->cluster, nodes[i], index);
}

void own_nodes_free(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	engine_note_change(engine);
	/* Where clusters keep their queues the next task may be on the nodes already. */
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (engine_node_task(engine, task->cluster, nodes[i]) == index)
			engine_set_node_task(engine, task->cluster, nodes[i], ENGINE_NO_TASK);
}

void own_nodes_set_departing(struct engine *engine, uint32_t task, uint32_t cluster,
			     const uint32_t *nodes, uint32_t count, bool leaves)
{
	for (uint32_t i = 0; i < count; i++)
		engine_set_node_leaver(engine, cluster, nodes[i], leaves ? task : ENGINE_NO_TASK);
}

/* Claims. */

uint32_t own_nodes_count_waits(const struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];
	uint32_t leaving = 0;

	for (uint32_t i = 0; i < task->nodes_count; i++)
		leaving += engine_node_leaver(engine, task->cluster, nodes[i]) != ENGINE_NO_TASK;
	return leaving;
}

uint32_t own_nodes_find_claimant(struct engine *engine, uint32_t cluster, uint32_t node)
{
	const uint32_t task = engine_node_task(engine, cluster, node);

	return task != ENGINE_NO_TASK && engine_has_claim(engine, task) ? task : ENGINE_NO_TASK;
}

/* A task with a claim waits for one node less. Returns whether the claim has come due. */
static bool count_down(struct engine *engine, uint32_t task)
{
	engine_set_claim_waits(engine, task, engine_claim_waits(engine, task) - 1);
	return engine_claim_waits(engine, task) == 0;
}

uint32_t own_nodes_find_due_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
				   uint32_t count, uint32_t leaver, uint32_t *ret_tasks)
{
	uint32_t due_count = 0;

	for (uint32_t i = 0; i <= count; i++) {
		const uint32_t next =
			i < count ? engine_node_task(engine, cluster, nodes[i]) : leaver;

		if (next != ENGINE_NO_TASK) {
			if (engine_has_claim(engine, next) && count_down(engine, next))
				ret_tasks[due_count++] = next;
		} else if (i < count && engine->setup.open) {
			/* until now the node could not be given to a task */
			engine_want_mapping(engine);
		}
	}
	return due_count;
}

/* Migrations. */

bool own_nodes_takes_vm(const struct engine *engine, uint32_t cluster, uint32_t node,
			const uint32_t *chosen, uint32_t count)
{
	return engine_node_idle(engine, cluster, node) &&
	       !engine_nodes_meet(chosen, count, &node, 1);
}

uint32_t own_nodes_find_full_node(const struct engine *engine, uint32_t task, const uint32_t *nodes)
{
	return UINT32_MAX;
}

uint32_t own_nodes_find_left(const struct engine_migration *migration, uint32_t *ret_left)
{
	uint32_t count = 0;

	for (uint32_t v = 0; v < migration->nodes_count; v++)
		if (!engine_nodes_meet(migration->to_nodes, migration->nodes_count,
				       &migration->nodes[v], 1))
			ret_left[count++] = migration->nodes[v];
	return count;
}

void own_nodes_note_migration(struct engine *engine, enum engine_task_event event)
{
	/* The nodes that were being left are free now. */
	if (event != ENGINE_TASK_MIGRATE && engine->setup.open)
		engine_want_mapping(engine);
}

/* Why a task waits. */

/* Whether a task fits on the nodes of some cluster that are up or, with `idle`, idle. */
static bool fits_nodes(const struct engine *engine, uint32_t index, bool idle)
{
	uint32_t count;
	const struct sched_option *options =
		sched_system_options(engine->setup.system, engine->known[index].row, &count);

	for (uint32_t i = 0; i < count; i++)
		if ((i == 0 || options[i].cluster != options[i - 1].cluster) &&
		    options[i].nodes <= engine_count_nodes(engine, options[i].cluster, idle))
			return true;
	return false;
}

bool own_nodes_fits(const struct engine *engine, uint32_t index)
{
	return fits_nodes(engine, index, false);
}

bool own_nodes_fits_idle(const struct engine *engine, uint32_t index)
{
	return fits_nodes(engine, index, true);
}

/* Snapshots. */

/* Appends a task's departing nodes that are up and unclaimed to `closed`; returns their number. */
static uint32_t append_departing(const struct engine *engine, const struct engine_task *task,
				 const uint32_t *nodes, uint32_t nodes_count,
				 struct sched_node *closed)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < nodes_count; i++)
		if (engine_node_task(engine, task->cluster, nodes[i]) == ENGINE_NO_TASK &&
		    engine_node_takes_tasks(engine, task->cluster, nodes[i]))
			closed[added++] = (struct sched_node){task->cluster, nodes[i]};
	return added;
}

/* Appends the departing nodes without a claim to the nodes that take no tasks. */
void own_nodes_fill_snapshot(struct engine *engine, struct sched_snapshot *snapshot)
{
	uint32_t count, leaving_count;
	struct sched_node *closed = engine_closed_nodes(engine, &count);
	const uint32_t *leaving = engine_leaving_tasks(engine, &leaving_count);

	for (uint32_t i = 0; i < leaving_count; i++) {
		const struct engine_task *task = &engine->tasks[leaving[i]];

		count += append_departing(engine, task, task->nodes, task->nodes_count,
					  closed + count);
	}
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const uint32_t index = engine->running.entries[i].task->id;
		const uint32_t *left;
		uint32_t left_count;

		if (engine->tasks[index].state != ENGINE_TASK_MIGRATING)
			continue;
		left = engine_migration_left(engine, index, &left_count);
		count += append_departing(engine, &engine->tasks[index], left, left_count,
					  closed + count);
	}
	snapshot->down_count = count;
}
