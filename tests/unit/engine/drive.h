/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>

#include "controller/engine/engine.h"

/* Advances the clock of a test's backend, as backend_sim_wait() does that of a simulation. */
typedef void (*drive_wait_f)(struct backend *backend, double until_s,
			     struct backend_event *ret_event);

/* Runs an engine to the end as simulation_run() does, over a backend of the test. */
static inline void drive(struct engine *engine, struct backend *backend, drive_wait_f wait,
			 struct engine_result *ret_result)
{
	engine_begin_run(engine);
	while (!engine_has_ended(engine)) {
		const double next_s = engine_next_s(engine);
		struct backend_event event;

		wait(backend, next_s > -(double)INFINITY ? next_s : backend_now_s(backend), &event);
		engine_event(engine, &event);
	}
	engine_stop_run(engine);
	engine_finish_run(engine, ret_result);
}
