/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The yield of a task and its virtual time, the integral of the yield (Stillwell 2010, III.A). */
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/yield.h"

double engine_virtual_s(const struct engine_task *task, double time_s)
{
	return isnan(task->sharing_s)
		       ? task->virtual_s
		       : task->virtual_s + task->yield * fmax(0, time_s - task->sharing_s);
}

void engine_set_yield(struct engine *engine, uint32_t index, double yield)
{
	struct engine_task *task = &engine->tasks[index];
	const double time_s = backend_now_s(engine->backend);
	struct engine_recorder *recorder = engine->setup.recorder;

	if (!isnan(task->sharing_s)) {
		task->virtual_s = engine_virtual_s(task, time_s);
		task->sharing_s = fmax(time_s, task->sharing_s);
	}
	task->yield = yield;
	if (recorder && recorder->share && !recorder->share(recorder, time_s, task))
		engine_abort(engine, "the share of task %u could not be recorded", index);
}

double engine_virtual_time_s(const struct engine *engine, uint32_t task)
{
	return engine_virtual_s(&engine->tasks[task], backend_now_s(engine->backend));
}
