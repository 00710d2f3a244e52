/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/simulation.h"

#include <math.h>

#include "controller/backend/sim.h"

void simulation_run(struct engine *engine, struct backend *sim, struct engine_result *ret_result)
{
	engine_begin_run(engine);
	simulation_continue(engine, sim, ret_result);
}

void simulation_continue(struct engine *engine, struct backend *sim,
			 struct engine_result *ret_result)
{
	while (!engine_has_ended(engine)) {
		const double next_s = engine_next_s(engine);
		struct backend_event event;

		backend_sim_wait(sim, next_s > -INFINITY ? next_s : backend_now_s(sim), &event);
		engine_event(engine, &event);
	}
	engine_stop_run(engine);
	engine_finish_run(engine, ret_result);
}
