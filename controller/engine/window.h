/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: an energy limit per window. What a task needs of it, when the next window
 * begins, and how well the limit is kept.
 */

/* window.c */

/* Create and free what belongs to the limit, for `count` tasks at most. */
void engine_window_init(struct engine *engine, uint32_t count);
void engine_window_finish(struct engine *engine);
/* Initialises what belongs to a task of the workload. */
void engine_window_init_task(struct engine *engine, uint32_t task);

/* Whether there is a limit per window. */
bool engine_window_is_set(const struct engine *engine);

/* To be called when a task leaves its nodes, before it is removed from the running tasks. */
void engine_window_note_end(struct engine *engine, uint32_t task, double time_s);

/* The joules left in the window under way for tasks that do not run yet; may be below 0. */
double engine_window_left_j(const struct engine *engine);

/*
 * Whether a task must not start or resume at its placement because less energy is left than it
 * needs. A refusal is recorded with the numbers. False where there is no limit.
 */
bool engine_window_refuses(struct engine *engine, uint32_t task);

/*
 * The same for `option`, of tasks that are considered in turn: the energy of a task that is not
 * refused is subtracted from *left_j. To be called only where there is a limit.
 */
bool engine_window_refuses_of(struct engine *engine, uint32_t task,
			      const struct sched_option *option, double *left_j);

/*
 * Leaves in a snapshot the waiting tasks that could be started somewhere with the energy left, and
 * the suspended tasks that could be resumed; the other tasks are refused. O(both lists). No effect
 * where there is no limit.
 */
void engine_window_filter(struct engine *engine, struct sched_snapshot *snapshot);

/*
 * Writes to `text` why a task waits and returns it, if the limit is the cause; else returns NULL.
 */
const char *engine_window_because(const struct engine *engine, uint32_t task, char *text,
				  size_t size);

/* window_turn.c */

/* When the next window begins (INFINITY: there are none); and begins it at time_s. */
double engine_window_next_s(const struct engine *engine);
void engine_window_begin_next(struct engine *engine, double time_s);

/*
 * Notes that the backend reported at time_s that the limit is reached. engine_window_enforce()
 * follows.
 */
void engine_window_reach(struct engine *engine, double time_s);

/*
 * While the limit is reached: suspends the running tasks, including those that were just starting.
 */
void engine_window_enforce(struct engine *engine);

/* Whether the task is suspended because of the limit. */
bool engine_window_suspended(const struct engine *engine, uint32_t task);

/* window_measure.c */

/*
 * Notes that a task ran until until_s or longer. To be called while the task is still listed as
 * running or as being suspended.
 */
void engine_window_note_ran(struct engine *engine, uint32_t task, double until_s);

/* For a full state: the limit per window, empty if there is none; and of a task, its refusal. */
json_t *engine_save_window(const struct engine *engine);
bool engine_load_window(struct engine *engine, const json_t *state);
double engine_window_refused_j(const struct engine *engine, uint32_t task);
void engine_window_set_refused_j(struct engine *engine, uint32_t task, double refused_j);
