/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/experiment/simulation.h"

#include <math.h>

#include "controller/backend/sim.h"

/* When the engine is called whose time comes at due_s. */
static double called_s(const struct simulation_moments *moments, double due_s)
{
	uint32_t low = 0, high = moments ? moments->count : 0;

	if (high == 0 || due_s >= moments->end_s)
		return due_s;
	/* The last moment at due_s or before; none: the first. */
	while (low + 1 < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (moments->due_s[middle] <= due_s)
			low = middle;
		else
			high = middle;
	}
	return fmin(due_s + moments->late_s[low], moments->end_s);
}

static void run_on(struct engine *engine, struct backend *sim,
		   const struct simulation_moments *moments, struct engine_result *ret_result)
{
	double call_s = INFINITY; /* the call that is due */

	while (!engine_has_ended(engine)) {
		const double next_s = engine_next_s(engine);
		struct backend_event event;

		call_s = fmin(call_s, called_s(moments, next_s));
		backend_sim_wait(sim, call_s > -INFINITY ? call_s : backend_now_s(sim), &event);
		/* What is due stays so when something else happens before. */
		if (event.kind == BACKEND_EVENT_NONE || !moments)
			call_s = INFINITY;
		engine_event(engine, &event);
	}
	engine_stop_run(engine);
	engine_finish_run(engine, ret_result);
}

void simulation_run(struct engine *engine, struct backend *sim, struct engine_result *ret_result)
{
	simulation_run_late(engine, sim, NULL, ret_result);
}

void simulation_run_late(struct engine *engine, struct backend *sim,
			 const struct simulation_moments *moments, struct engine_result *ret_result)
{
	engine_begin_run(engine);
	run_on(engine, sim, moments, ret_result);
}

void simulation_continue(struct engine *engine, struct backend *sim,
			 struct engine_result *ret_result)
{
	run_on(engine, sim, NULL, ret_result);
}
