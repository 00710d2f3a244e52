/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/platform.h"
#include "controller/engine/engine.h"

/*
 * Runs the engine in the main loop, over a backend in real time (remote.h), until the run has
 * ended: one source of the default main context has the engine handle an event when it has arrived,
 * or when the engine's next time has come. Timers, links and clients' requests are sources beside
 * it; their callbacks may change the engine. Fills *ret_result.
 *
 * What the engine requests of local schedulers in one call is sent after it. Between the parts of a
 * plan (engine_setup.at_once), when the engine is to be called again at once, all requests are held
 * until its last part.
 */
void run_loop(const struct platform *platform, struct engine *engine, struct backend *backend,
	      struct engine_result *ret_result);
