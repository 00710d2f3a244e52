/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * Runs an engine to the end in virtual time, over `sim`, the simulated backend (sim.h) that it was
 * made with, and fills *ret_result. Between two calls of the engine the clock jumps to the next
 * event, or to the time at which the engine is to be called if that comes first. Tasks that still
 * run at the end are killed and count as unfinished. An aborted run has a result too;
 * engine_reason() says why it was aborted. The main loop of a run in real time is run_loop().
 */
void simulation_run(struct engine *engine, struct backend *sim, struct engine_result *ret_result);

/*
 * How late the engine is called, as it was in a measured run: when its time has come at due_s[i] or
 * later, it is called late_s[i] after that, by the last such i.
 */
struct simulation_moments {
	const double *due_s;  /* ascending */
	const double *late_s; /* >= 0 */
	uint32_t count;
	double end_s; /* from then on it is called at once: the duration of the run */
};

/* As simulation_run(), with the moments of another run; NULL or none: at once. */
void simulation_run_late(struct engine *engine, struct backend *sim,
			 const struct simulation_moments *moments,
			 struct engine_result *ret_result);

/*
 * As simulation_run() for a run that has begun already, over another backend that passes on to
 * `sim`.
 */
void simulation_continue(struct engine *engine, struct backend *sim,
			 struct engine_result *ret_result);
