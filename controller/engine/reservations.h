/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: planned starts. A reservation keeps nodes for a task until it starts, a
 * place-holder until the next mapping event. A start is due at its time, and late if its nodes are
 * not free by then.
 */
struct planned;

/* Initialises engine->planned, for tasks below tasks_max: nothing is planned. */
void engine_planned_init(struct engine *engine, uint32_t tasks_max);
void engine_planned_finish(struct engine *engine);

/*
 * All reservations, or place-holders, by start, then id; *ret_count of them. Borrowed until one of
 * them changes. O(1).
 */
const struct sched_allocation *engine_reservations(const struct engine *engine,
						   uint32_t *ret_count);
const struct sched_allocation *engine_placeholders(const struct engine *engine,
						   uint32_t *ret_count);

/* The earliest planned start after the last engine_start_due(); INFINITY: none. */
double engine_next_reservation_s(const struct engine *engine);

/*
 * Inserts the planned start of a PLANNED task among the reservations or place-holders; and removes
 * it.
 */
void engine_insert_planned(struct engine *engine, uint32_t task, double start_s, double end_s);
void engine_remove_planned(struct engine *engine, uint32_t task);

/*
 * Cancels the reservations, or all planned starts, that need one of the nodes of `place` before it
 * ends: their tasks are mappable again. `reason`: why a node of `place` went, which is recorded as
 * of `time_s`; NULL: none went.
 */
void engine_cancel_reservations_on(struct engine *engine, const struct sched_allocation *place,
				   double time_s, const char *reason);
void engine_cancel_planned_on(struct engine *engine, const struct sched_allocation *place,
			      double time_s, const char *reason);

/* Cancels all place-holders. */
void engine_cancel_placeholders(struct engine *engine);

/*
 * To be called when a task starts whose last planned start was start_s. Records an "overdue" event
 * with the reasons where a reservation had promised an earlier start.
 */
void engine_settle_reservation(struct engine *engine, uint32_t task, double start_s);

/*
 * Starts the tasks whose planned start is at or before `time_s` and whose nodes are free; the
 * others are late. A place-holder starts only before the next mapping event.
 */
void engine_start_due(struct engine *engine, double time_s);

/* To be called when nodes became free: tries the late starts again. */
void engine_retry_late(struct engine *engine, double now_s);

/* To be called when a task got nodes that may be reserved for others: reservations may slide. */
void engine_disturb_reservations(struct engine *engine);

/*
 * To be called when nodes became free unexpectedly. In a service all reservations are recomputed at
 * the next mapping event, which follows soon.
 */
void engine_replan_reservations(struct engine *engine);

/* The same where a node came back, also in other runs: at their next mapping event. */
void engine_replan_for_node(struct engine *engine);

/*
 * To be called when a task leaves its nodes. If the task was late, its nodes are free unexpectedly:
 * calls engine_replan_reservations(). Clears the task's lateness.
 */
void engine_clear_overrun(struct engine *engine, uint32_t task);

/*
 * Moves the expected end of tasks that outlived their estimate to the next mapping event, at
 * `next_s`.
 */
void engine_extend_overruns(struct engine *engine, double now_s, double next_s);

/*
 * Moves reservations behind late tasks, and each behind the reservations that preceded it. No
 * effect if nothing is late.
 */
void engine_slide_reservations(struct engine *engine, double now_s);

/*
 * Cancels all reservations if nodes became free unexpectedly, so that the policy, which is asked
 * next, recomputes them. Otherwise a task would wait for its reserved nodes while others are idle.
 */
void engine_take_back_reservations(struct engine *engine, double now_s);

/* For a full state, after the tasks. */
json_t *engine_save_planned(const struct engine *engine);
bool engine_load_planned(struct engine *engine, const json_t *state);
