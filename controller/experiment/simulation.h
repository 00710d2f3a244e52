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

/* The same for a run that has begun already, over another backend that passes on to `sim`. */
void simulation_continue(struct engine *engine, struct backend *sim,
			 struct engine_result *ret_result);
