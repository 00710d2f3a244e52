/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/fsm.h"
#include "controller/engine/engine.h"

/*
 * What is counted about a run: its engine_result so far (engine_counts()), its marks, and what
 * completed tasks used. When the day begins (engine_setup.lead_s) it is counted from 0 again, but
 * for decisions and impossible events.
 */

/* Initialises engine->counters: all are 0. */
void engine_counters_init(struct engine *engine);
void engine_counters_finish(struct engine *engine);

/* Tasks that arrived, failed or were killed, and were dropped. */
void engine_count_arrived(struct engine *engine);
void engine_count_failed(struct engine *engine);
void engine_count_dropped(struct engine *engine);

/* Adds what a task, or a part of it, earned. */
void engine_count_utility(struct engine *engine, double utility);

/*
 * Counts a completed task. What it used is added to the totals, unless its place is not configured
 * any more.
 */
void engine_count_completed(struct engine *engine, const struct engine_task *task);

/* What a completed task counts as for policies: its estimate, if what it used is not known. */
double engine_counted_j(const struct engine_task *task);

/* Adds to the energy of completed tasks: that of one of them became known better. */
void engine_correct_completed_j(struct engine *engine, double change_j);

/* Totals of completed tasks: dynamic energy, core-seconds. */
double engine_completed_j(const struct engine *engine);
double engine_completed_resources(const struct engine *engine);

/* Shared hosts: a task was paused, or some VMs of one moved. `memory`: of them, in whole hosts. */
void engine_count_pause(struct engine *engine, double memory);
void engine_count_move(struct engine *engine, double memory);

/*
 * A decision, for which the policy took decide_s, and that it was made by a fallback; a mapping
 * event with one, which took took_s.
 */
void engine_count_decision(struct engine *engine, double decide_s);
void engine_count_fallback(struct engine *engine);
void engine_count_mapping(struct engine *engine, double took_s);

/* An event that is impossible in the state of its task, window, ... */
void engine_count_impossible(struct engine *engine);

/*
 * Moves a state of a task's on by an event of its table. Returns whether it is a move. An event
 * that is impossible in the state is logged and counted; in tests the log entry is fatal.
 */
bool engine_move_state(struct engine *engine, const struct fsm *fsm, unsigned int *state,
		       unsigned int event, uint32_t task);

/* The day. */

/* Begins the day: what was counted so far belongs to the lead. */
void engine_begin_day(struct engine *engine);
/* Whether it has begun; false without a lead. */
bool engine_day_begun(const struct engine *engine);
/* The dynamic energy since the day began, without a lead since the run began. */
double engine_consumed_j(const struct engine *engine);

/* Marks and the end. */

/* Whether the energy has yet to reach a mark (engine_setup.marks_j); the joules of the next one. */
bool engine_has_mark(const struct engine *engine);
double engine_next_mark_j(const struct engine *engine);
/* Keeps the counters as the interim result at the next mark, which was reached at `time_s`. */
void engine_reach_mark(struct engine *engine, double time_s);

/* Notes why and when the run ended. */
void engine_count_end(struct engine *engine, enum engine_end ended_by, double time_s);
/* Notes the energy that was consumed in the end. */
void engine_count_energy(struct engine *engine);
/* Makes the result also that of marks that were not reached, and returns it; borrowed. */
const struct engine_result *engine_finish_counting(struct engine *engine);

/* For a full state: without marks, and without a lead. */
json_t *engine_save_counters(const struct engine *engine);
bool engine_load_counters(struct engine *engine, const json_t *state);

/* The utility that a run earned over time: engine_utility_log(). */

/* Initialises engine->utility_log: no task has completed. */
void engine_utility_log_init(struct engine *engine);
void engine_utility_log_finish(struct engine *engine);

/* To be called when a completed task was restored: the log is recomputed when it is needed. */
void engine_rebuild_utility_log(struct engine *engine);

/* Logs the utility of a task that completes at time_s; to be called before its state changes. */
void engine_note_utility(struct engine *engine, double time_s, double utility);
