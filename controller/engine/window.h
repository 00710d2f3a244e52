/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The engine's internals: an energy limit per window. What a task needs of it, when the next window
 * begins, and how well the limit is kept.
 */

/* window.c */

/* Whether there is a limit per window. */
static inline bool engine_window_is_set(const struct engine *engine)
{
	return engine->window.limit_j > 0;
}

/* To be called when a task leaves its nodes, before it is removed from the running tasks. */
void engine_window_note_end(struct engine *engine, uint32_t task, double time_s);

/*
 * In the window under way: the joules used, and the joules left for tasks that do not run yet,
 * which may be below 0.
 */
double engine_window_spent_j(const struct engine *engine);
double engine_window_left_j(const struct engine *engine);

/* Forgets all refusals: another window has begun, or another limit was set. */
void engine_window_clear_refusals(struct engine *engine);

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
 * The tasks of engine.waiting_tasks that could be started somewhere with the energy left, and those
 * of engine.suspended_tasks that could be resumed; the others are refused. Return their numbers.
 */
uint32_t engine_window_affordable(struct engine *engine, const struct sched_task **ret_tasks);
uint32_t engine_window_resumable(struct engine *engine, struct sched_suspended *ret_suspended);

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

/* The dynamic energy used until time_s, by the samples received so far. */
double engine_window_energy_at_j(const struct engine *engine, double time_s);

/* What the samples of the meters cover; its until_s is now at the latest. */
struct backend_watermark engine_window_watermark(const struct engine *engine);

/*
 * When the limit was reached in a span up to to_s, as far as known; to_s if it was not, or if that
 * is not known. Looks back only as far as samples are kept.
 */
double engine_window_reached_s(const struct engine *engine, const struct window_span *span,
			       double to_s);

/*
 * The measure since the engine began, as known now, with the window and the suspensions under way.
 */
struct window_measure engine_window_measured(const struct engine *engine);

/*
 * Notes that a task ran until until_s or longer. To be called while the task is still listed as
 * running or as being suspended.
 */
void engine_window_note_ran(struct engine *engine, uint32_t task, double until_s);

/*
 * Begin and end spans. `turned`: a window begins. Otherwise a limit is set in the window under way,
 * of which spent_j were used. engine_window_end_span() ends the span under way; another is to be
 * begun at once. engine_window_forget_spans() drops all ended spans after the limit was changed.
 */
void engine_window_begin_span(struct engine *engine, double from_s, double spent_j, bool turned);
void engine_window_end_span(struct engine *engine, double time_s);
void engine_window_forget_spans(struct engine *engine);

/* To be called when meters may have reported more about windows that began or ended. */
void engine_window_update_past(struct engine *engine);
