/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which task has a node or claims it, and which task is leaving it. */
#include <stdlib.h>

#include "controller/engine/shared_nodes.h"
#include "controller/engine/state.h"

bool engine_place_free(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (!engine_node_idle(engine, task->cluster, task->nodes[i]))
			return false;
	return true;
}

bool engine_nodes_meet(const uint32_t *nodes, uint32_t count, const uint32_t *others,
		       uint32_t others_count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < others_count; k++)
			if (nodes[i] == others[k])
				return true;
	return false;
}

static int by_number(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

void engine_sort_nodes(uint32_t *nodes, uint32_t count)
{
	qsort(nodes, count, sizeof(*nodes), by_number);
}

void engine_allocate_nodes(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	if (engine->shared_nodes) {
		engine_promise_memory(engine, index, nodes, true);
		return;
	}
	engine->changes++;
	engine->tallied = false;
	for (uint32_t i = 0; i < task->nodes_count; i++)
		engine->allocated[task->cluster][nodes[i]] = index;
}

void engine_free_nodes(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	if (engine->shared_nodes) {
		engine_promise_memory(engine, index, nodes, false);
		return;
	}
	engine->changes++;
	engine->tallied = false;
	/* Where clusters keep their queues the next task may be on the nodes already. */
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (engine->allocated[task->cluster][nodes[i]] == index)
			engine->allocated[task->cluster][nodes[i]] = ENGINE_NO_TASK;
}

void engine_set_departing(struct engine *engine, uint32_t task, uint32_t cluster,
			  const uint32_t *nodes, uint32_t count, bool leaves)
{
	if (engine->shared_nodes) {
		engine_leave_shared_nodes(engine, task, nodes, count, leaves);
		return;
	}
	engine->tallied = false;
	for (uint32_t i = 0; i < count; i++)
		engine->departing[cluster][nodes[i]] = leaves ? task : ENGINE_NO_TASK;
}

uint32_t engine_leaving_nodes(const struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];
	uint32_t leaving = 0;

	if (engine->shared_nodes)
		return engine_overfull_nodes(engine, index, nodes);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		leaving += engine->departing[task->cluster][nodes[i]] != ENGINE_NO_TASK;
	return leaving;
}
