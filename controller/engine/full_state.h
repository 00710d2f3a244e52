/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "controller/engine/engine.h"

/*
 * A full state: all that decides what an engine does next, as JSON. An engine that it was loaded
 * into does with equal inputs what the one would do that it was saved from, to the last bit. The
 * records of the tasks, from which a restarted service continues, have less: what the clusters
 * report again, and what the next mapping event decides again, is not in them.
 *
 * Only where tasks have their nodes for themselves (placement_exclusive.c), without marks and lead.
 * Of tasks that have ended it has those alone of which an account of energy may still report
 * something; the others count in its sums. What events and records are about, but nothing depends
 * on, is left out: the users of requests, and which records are to be written.
 */

/*
 * False: the engine cannot be saved now, since a policy is deciding, its plan is being carried out,
 * or an input is being handled; or not at all. O(1).
 */
bool engine_can_save(const struct engine *engine);

/* A new reference; NULL: the engine cannot be saved. O(tasks). */
json_t *engine_save(struct engine *engine);

/* A state without its tasks, a new reference, and its tasks one by one: together engine_save(). */
json_t *engine_save_head(struct engine *engine);
void engine_save_tasks(struct engine *engine, void (*add)(const json_t *task, void *data),
		       void *data);

/* The number of tasks that a state would have. O(tasks). */
uint32_t engine_saved_count(const struct engine *engine);

/*
 * Sets the tasks of an open workload, which is empty, to those of a state: to be called before
 * engine_new(). False: it is not a state of such a system, and the workload cannot be used.
 */
bool engine_load_workload(const json_t *state, const struct sched_system *system,
			  struct workload *workload);

/*
 * Loads a state into an engine that was just made, with the system and workload of the engine that
 * it was saved from. False: it is not such a state, and the engine can only be freed.
 */
bool engine_load(struct engine *engine, const json_t *state);
