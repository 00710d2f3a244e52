/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: memory for the nodes of each task, engine_task.nodes, with room for the
 * most that it can get.
 */
struct places;

/* Initialises engine->places for the tasks of the workload, and for others below tasks_max. */
void engine_places_init(struct engine *engine, uint32_t tasks_max);
void engine_places_finish(struct engine *engine);

/* To be called for a task that was appended to the workload. */
void engine_add_place(struct engine *engine, uint32_t task);

/* Sets the nodes of a task, which are copied. */
void engine_set_nodes(struct engine *engine, uint32_t task, const uint32_t *nodes, uint32_t count);
