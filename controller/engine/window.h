/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The inside of the engine: a limit of energy per window. What a task needs of it, when the next one begins, and how
 * well it is kept.
 */

/* window.c */

/* Whether there is a limit per window. */
bool engine_window_is_set(const struct engine *engine);

/* A task leaves its nodes, before it is off the list of those that run. */
void engine_window_note_end(struct engine *engine, uint32_t task, double time_s);

/* In the window under way: what was spent, and what is left for what does not run yet, which can be below 0. */
double engine_window_spent_j(const struct engine *engine);
double engine_window_left_j(const struct engine *engine);

/* Records an event; `object` is taken over. */
void engine_window_record(struct engine *engine, double time_s, const char *kind, json_t *object);

/* No task is refused any more: another window, or another limit. */
void engine_window_forget(struct engine *engine);

/*
 * Whether it is refused that a task starts, or goes on, at the place that it has, since less is left than it needs;
 * it is recorded with the numbers. False where there is no such limit.
 */
bool engine_window_refuses(struct engine *engine, uint32_t task);

/* The same at `option`, of one that comes after others: what it needs is taken off *left_j. There is a limit. */
bool engine_window_refuses_of(struct engine *engine, uint32_t task, const struct sched_option *option,
			      double *left_j);

/*
 * Those of engine.waiting_tasks that could be started somewhere with what is left, and of engine.suspended_tasks
 * that could go on; the others are refused. Return their numbers.
 */
uint32_t engine_window_affordable(struct engine *engine, const struct sched_task **ret_tasks);
uint32_t engine_window_resumable(struct engine *engine, struct sched_suspended *ret_suspended);

/* Why it waits, in `text`, if that is it; else NULL. */
const char *engine_window_because(const struct engine *engine, uint32_t task, char *text, size_t size);

/* window_turn.c */

/* When the next window begins; INFINITY: there are none. And that it has begun. */
double engine_window_next_s(const struct engine *engine);
void engine_window_turn(struct engine *engine, double time_s);

/* The backend says that the limit was reached at time_s: engine_window_enforce() is to be called. */
void engine_window_reach(struct engine *engine, double time_s);

/* While it is: suspends what runs, tasks that were just starting included. */
void engine_window_enforce(struct engine *engine);

/* Whether the task is suspended for it. */
bool engine_window_sleeps(const struct engine *engine, uint32_t task);

/* window_measure.c */

/* What meters have told of; until now at the latest. */
struct backend_watermark engine_window_watermark(const struct engine *engine);

/*
 * When the limit was reached in a span up to to_s, as it is known by now; to_s if it was not, or that is not known.
 * It is looked for no further back than samples are kept.
 */
double engine_window_reached_s(const struct engine *engine, const struct window_span *span,
			       double to_s);

/* Since the engine began, by what is known now: the window under way, and suspensions that are, included. */
struct window_measure engine_window_measured(const struct engine *engine);

/* A task ran until then, and maybe on; it is still listed with what runs, or being suspended. */
void engine_window_note_ran(struct engine *engine, uint32_t task, double until_s);

/*
 * A window begins, or (not `turned`) a limit is set when spent_j of the one under way were used; and the one under
 * way ends, to be followed by another one at once. Or there is another limit: those of the one before are looked at
 * no more.
 */
void engine_window_begin_span(struct engine *engine, double from_s, double spent_j, bool turned);
void engine_window_end_span(struct engine *engine, double time_s);
void engine_window_forget_spans(struct engine *engine);

/* Meters may have told more of the windows that began or ended. */
void engine_window_look_back(struct engine *engine);
