/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of nodes. */
#include <stdlib.h>

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
