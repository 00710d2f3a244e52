/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/* Arrival, placement, start and loss of a task, its state, and what it has used. */

/*
 * Whether an event moves a task on from its state. An event that is impossible in the state is
 * logged and counted (engine_result.impossible_events); in tests the log entry is fatal.
 */
bool engine_expects(struct engine *engine, uint32_t task, enum engine_task_event event);

/* Moves a task on by an event; no effect if engine_expects() is false. */
void engine_move_task(struct engine *engine, uint32_t task, enum engine_task_event event);

/* Lets the tasks arrive whose arrival is at or before `time_s`. */
void engine_arrive(struct engine *engine, double time_s);

/* Gives a task a placement: cluster, P-state, nodes, and the estimates that follow from them. */
void engine_set_place(struct engine *engine, uint32_t task, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count);

/*
 * Prepares the start of a task at its placement: state, times, allocated nodes. The task leaves the
 * mappable tasks. The caller flushes the record and then calls engine_launch(). If nodes are still
 * being left, the task gets a claim instead and starts when they are free.
 */
void engine_begin(struct engine *engine, uint32_t task);

/* Notes that a queued task began at `time_s`, on a cluster that keeps its queue itself. */
void engine_begin_queued(struct engine *engine, uint32_t task, double time_s);

/* Prepares the start of a task whose claim has come due. */
void engine_begin_claimed(struct engine *engine, uint32_t task);

/*
 * The entry of a task in the list of running tasks, on `nodes` of its cluster (borrowed) from
 * start_s on, after the execution time that it has already.
 */
struct sched_allocation engine_running(const struct engine *engine, uint32_t task,
				       const uint32_t *nodes, double start_s);

/* The expected end of a task whose present interval began at start_s. */
double engine_expected_end_s(const struct engine_task *task, double start_s);

/*
 * Sets whether policies may suspend a task: not while it is being started or resumed, and not after
 * ENGINE_RETRIES_MAX failures.
 */
void engine_set_preemptible(struct engine *engine, uint32_t task);

/* Cancels a task's reservation or place-holder: the task is mappable again. */
void engine_cancel_planned(struct engine *engine, uint32_t task);

/* Asks the backend to start a task that engine_begin() prepared. */
void engine_launch(struct engine *engine, uint32_t task);

/*
 * Puts a task that lost its attempt among the waiting, or lets it fail after too many attempts.
 * Returns the event that its state has yet to be moved by: LOSE, FAIL or KILL.
 */
enum engine_task_event engine_after_loss(struct engine *engine, uint32_t task, double time_s,
					 const char *reason);

/* Sets the energy of a task whose attempt has ended: the account's, or the backend's `event_j`. */
void engine_take_energy(struct engine *engine, uint32_t task, double event_j);
