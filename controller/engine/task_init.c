/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/task_init.h"

#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/places.h"
#include "controller/engine/window.h"

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
	engine_add_place(engine, index);
	engine_init_known(engine, index);
}
