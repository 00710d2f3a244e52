/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The engine's internals: when the policy is asked, the snapshot that it gets, whether its plan is
 * legal, and carrying the plan out.
 */

/* Initialises engine->decider: nothing is being decided. */
void engine_decider_init(struct engine *engine);
/* To be called before what the policy's thread touches is freed (engine_prepare_entry()). */
void engine_decider_finish(struct engine *engine);

/* How far a decision is that is not carried out at once (engine_setup.apart and at_once). */
enum engine_decision {
	ENGINE_DECISION_NONE,
	ENGINE_DECISION_ASKED,    /* the policy decides on its thread */
	ENGINE_DECISION_APPLYING, /* a part of its plan was carried out; more follow */
};
enum engine_decision engine_decision(const struct engine *engine);

/* Holds the periodic mapping event engine_next_event() at `now_s`. */
void engine_map(struct engine *engine, double now_s);

/* Holds a mapping event at `now_s` for what changed since the last one. */
void engine_map_change(struct engine *engine, double now_s);

/*
 * The earliest time, from `now_s` on, at which a mapping event for a change may be held, as far as
 * it is known; INFINITY: none.
 */
double engine_next_change_s(const struct engine *engine, double now_s);

/*
 * Carries out the answer of the policy's thread, or the next part of it (engine_setup.at_once). No
 * effect if there is no answer yet. An answer of a policy that was replaced meanwhile is dropped.
 */
void engine_take_answer(struct engine *engine);

/*
 * Whether a decision is pending, or its plan is not fully carried out yet: engine_decision(). The
 * policy is not asked again before that.
 */
bool engine_is_deciding(const struct engine *engine);

/* Drops the rest of a plan that is being carried out in parts. */
void engine_stop_applying(struct engine *engine);

/*
 * Carries out a plan. A plan that is not legal is the policy's fault and ends the run with a
 * reason: nodes that are not free, tasks that are not mappable or not preemptible, a task that
 * would resume in another cluster. Actions of a plan made on the policy's thread that became
 * impossible meanwhile are skipped. `is_further`: this is a further part of a plan, which keeps the
 * reservations of the parts before it.
 */
void engine_apply_plan(struct engine *engine, const struct sched_plan *plan, bool is_further);

/*
 * The steps of a legal action (placement.h), unless only one placement has such actions. No effect
 * for these.
 */
void engine_prepare_action(struct engine *engine, const struct sched_action *action);
void engine_launch_action(struct engine *engine, const struct sched_action *action);

/* NULL if an action is legal now, else why it is not. */
const char *engine_validate_action(const struct engine *engine, const struct sched_action *action);

/*
 * NULL if a task waits for a policy to map it; or if it is suspended and mappable, that is not held
 * and without a claim. Else why not.
 */
const char *engine_validate_mappable(const struct engine *engine, uint32_t task);
const char *engine_validate_suspended(const struct engine *engine, uint32_t task);

/* NULL if a waiting or suspended task can be dropped, else why not. */
const char *engine_validate_drop(const struct engine *engine, uint32_t task);

/* NULL if an action is legal where tasks have nodes of their own and no queues, else why not. */
const char *engine_validate_on_own_nodes(const struct engine *engine,
					 const struct sched_action *action);

/*
 * NULL if a START, RESUME or SUSPEND is legal, leaving aside which tasks are on its nodes now, and
 * of a RESUME that the task may still be running; else why it is not.
 */
const char *engine_validate_but_nodes(const struct engine *engine,
				      const struct sched_action *action);

/*
 * For a plan older than the engine's state: finds the STARTs and RESUMEs that are no longer
 * possible, and the SUSPENDs that only made room for these and would stop a task to no purpose.
 * `refused`: per action, whether it is left out anyway; NULL: none is. Returns a flag per action,
 * to be freed with g_free().
 */
bool *engine_find_stale(const struct engine *engine, const struct sched_plan *plan,
			const bool *refused);
