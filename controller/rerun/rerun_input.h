/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * Makes a stored request of a user, or of the service, of the engine once more: inputs from SUBMIT
 * on. `time_s` and `detail` (NULL: none) are as stored. `system` is that of the engine. False: it is
 * not what the engine notes.
 */
bool rerun_request(struct engine *engine, const struct sched_system *system,
		   enum engine_input_kind kind, double time_s, const json_t *detail);
