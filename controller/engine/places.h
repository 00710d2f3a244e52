/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: a task before anything has happened to it, and memory for its nodes,
 * engine_task.nodes, with room for the most that it can get.
 */
struct places;

/* Initialises engine->places for the tasks of the workload, and for others below tasks_max. */
void engine_places_init(struct engine *engine, uint32_t tasks_max);
void engine_places_finish(struct engine *engine);

/* Sets the nodes of a task, which are copied. */
void engine_set_nodes(struct engine *engine, uint32_t task, const uint32_t *nodes, uint32_t count);

/* Initialises a task whose description, as policies see it, and whose place are there. */
void engine_init_known(struct engine *engine, uint32_t task);

/* Initialises the task that was just appended to the workload. */
void engine_init_task(struct engine *engine, uint32_t task);
