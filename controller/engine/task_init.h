/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* The engine's internals: the data of a task before anything has happened to it. */

/* Initialises a task whose description, as policies see it, and whose place are there. */
void engine_init_known(struct engine *engine, uint32_t task);

/* Initialises the task that was just appended to the workload. */
void engine_init_task(struct engine *engine, uint32_t task);
