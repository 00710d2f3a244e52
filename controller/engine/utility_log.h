/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* The utility that a run earned over time: engine_utility_log(). */

/* Initialises engine->utility_log: no task has completed. */
void engine_utility_log_init(struct engine *engine);
void engine_utility_log_finish(struct engine *engine);

/* To be called when a completed task was restored: the log is recomputed when it is needed. */
void engine_rebuild_utility_log(struct engine *engine);

/* Logs the utility of a task that completes at time_s; to be called before its state changes. */
void engine_note_utility(struct engine *engine, double time_s, double utility);
