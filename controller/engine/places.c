/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/places.h"

#include <math.h>
#include <string.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/placement.h"
#include "controller/engine/window.h"

struct places {
	uint32_t **of; /* per task */
	/* Memory of the first pooled_count tasks; that of the others is allocated singly. */
	uint32_t *pool;
	uint32_t pooled_count;
};

/* The largest number of nodes that a task of the workload can get. */
static uint32_t width_of(const struct engine *engine, uint32_t task)
{
	return engine->placement->width(engine->setup.system, &engine->setup.workload->tasks[task]);
}

void engine_places_init(struct engine *engine, uint32_t tasks_max)
{
	struct places *places = engine->places = g_new(struct places, 1);
	const uint32_t count = engine->setup.workload->tasks_count;
	size_t width = 0;

	for (uint32_t i = 0; i < count; i++)
		width += width_of(engine, i);
	*places = (struct places){
		.of = g_new(uint32_t *, tasks_max),
		.pool = g_new(uint32_t, width),
		.pooled_count = count,
	};
	width = 0;
	for (uint32_t i = 0; i < count; i++) {
		places->of[i] = places->pool + width;
		width += width_of(engine, i);
	}
}

void engine_places_finish(struct engine *engine)
{
	struct places *places = engine->places;

	for (uint32_t i = places->pooled_count; i < engine->setup.workload->tasks_count; i++)
		g_free(places->of[i]);
	g_free(places->of);
	g_free(places->pool);
	g_free(places);
}

void engine_set_nodes(struct engine *engine, uint32_t index, const uint32_t *nodes, uint32_t count)
{
	struct engine_task *task = &engine->tasks[index];

	task->nodes = engine->places->of[index];
	task->nodes_count = count;
	memcpy(engine->places->of[index], nodes, count * sizeof(*nodes));
}

/* A task before anything has happened to it. */

void engine_init_known(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	task->task = &engine->known[index];
	task->planned_start_s = task->started_s = task->expected_end_s = NAN;
	task->since_s = task->waits_since_s = task->sharing_s = NAN;
	task->ended_s = task->exec_s = task->energy_j = NAN;
	task->etc_s = task->eec_j = NAN;
	task->chance = task->threshold = NAN;
	task->promised_s = INFINITY;
	engine_window_init_task(engine, index);
}

void engine_init_task(struct engine *engine, uint32_t index)
{
	engine->known[index] = engine->setup.workload->tasks[index];
	engine->places->of[index] = g_new(uint32_t, width_of(engine, index));
	engine_init_known(engine, index);
}
