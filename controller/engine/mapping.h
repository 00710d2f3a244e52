/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The inside of the engine: when the policy is asked, what it is given to decide on, whether what its plan asks for
 * can be, and doing it.
 */

/* mapping_event.c */

/* The periodic mapping event `engine->event_next` at `now_s`. */
void engine_map(struct engine *engine, double now_s);

/* The mapping event at `now_s` for what has changed since the last one. */
void engine_map_change(struct engine *engine, double now_s);

/*
 * The earliest time, from `now_s` on, of a mapping event for a change, as far as it is known;
 * INFINITY: none.
 */
double engine_next_change_s(const struct engine *engine, double now_s);

/* The day begins: all that was counted so far belongs to the lead. */
void engine_begin_day(struct engine *engine);

/*
 * Carries out what the policy has decided apart, or the next part of it (engine_setup.at_once), if it has and is still
 * the one that decides.
 */
void engine_take_answer(struct engine *engine);

/* Whether the policy decides apart, or what it decided is not carried out yet: nobody is asked before that. */
bool engine_is_deciding(const struct engine *engine);

/* The rest of a plan that is carried out in parts is not. */
void engine_stop_applying(struct engine *engine);

/* decision_record.c */

/*
 * Makes engine->entry of a decision, on the policy's thread: nobody else looks at that, nor at what is on record,
 * before the answer was taken. `data` is the engine.
 */
void engine_prepare_entry(const struct policy *policy, const struct sched_snapshot *snapshot,
			  const struct sched_plan *plan, void *data);

/* Drops it: nothing comes of the decision. */
void engine_clear_entry(struct engine *engine);

/*
 * Tells the recorder about a decision, if it is to know (engine_setup.record_changes). Where it was made apart its entry
 * was prepared.
 */
void engine_record_decision(struct engine *engine, const struct policy *policy,
			    const struct sched_snapshot *snapshot, const struct sched_plan *plan);

/* take_snapshot.c */

/*
 * The system as it is at `now_s`, for a periodic event or one `between` them. Borrows from the engine until it changes.
 */
struct sched_snapshot engine_take_snapshot(struct engine *engine, double now_s, bool between);

/*
 * Puts the mappable suspended tasks in order, and what a snapshot says of them with it: nobody else
 * settles that list, or the snapshot would have others.
 */
void engine_list_suspended(struct engine *engine);

/* reservations.c */

/* Adds a promise to a list ordered by start, then id. */
void engine_insert_reservation(struct sched_planned *list, uint32_t *count,
		    const struct sched_planned *planned);

/* Takes the promise of `task` off a list. Returns whether there was one. */
bool engine_remove_reservation(struct sched_planned *list, uint32_t *count, uint32_t task);

/*
 * A task starts that was to start at start_s by its last plan: where a reservation had promised less, that is
 * on record, with the reasons.
 */
void engine_settle_reservation(struct engine *engine, uint32_t task, double start_s);

/* A promise to a task was taken back since a node of its place went. */
void engine_note_gone(struct engine *engine, uint32_t task);

/* The earliest promised start after the last engine_start_due(); INFINITY: none. */
double engine_next_reservation_s(const struct engine *engine);

/*
 * Starts what was promised nodes for `time_s` or before and finds them free; what does not is late.
 * Place-holders start before the next mapping event only.
 */
void engine_start_due(struct engine *engine, double time_s);

/* Nodes became free: tries again what is late. */
void engine_retry_late(struct engine *engine, double now_s);

/* Nodes are there that nobody could count on: a service plans anew what is reserved. */
void engine_replan_reservations(struct engine *engine);

/*
 * A task leaves its nodes: what is reserved is planned anew if it was late, which nobody could count on. Then it is
 * late no more.
 */
void engine_clear_overrun(struct engine *engine, uint32_t task);

/* Tasks that outlived their estimate are taken to be busy until the next event, at `next_s`. */
void engine_extend_overruns(struct engine *engine, double now_s, double next_s);

/* Moves reservations behind what is late, each behind those that were before it. */
void engine_slide_reservations(struct engine *engine, double now_s);

/*
 * Nodes came since reservations were made: takes these back, so that the policy, which is asked next, makes them
 * anew. A task would wait for its nodes otherwise while others, that nobody could count on, are idle.
 */
void engine_take_back_reservations(struct engine *engine, double now_s);

/* plan_apply.c */

/*
 * Does what a plan asks for. A plan that cannot be carried out is the policy's fault and ends the
 * run with a reason: nodes that are not free, tasks that are not mappable or not preemptible, a task
 * that would go on in another cluster. Of a plan that was made apart, what may have become impossible
 * since then is left out. With `goes_on` it is a further part of a plan, which keeps the promises of those before.
 */
void engine_apply_plan(struct engine *engine, const struct sched_plan *plan, bool goes_on);

/* plan_validate.c */

/* Whether an action is legal, things being as they are; otherwise why not. */
const char *engine_validate_action(const struct engine *engine, const struct sched_action *action);

/* Whether a task waits for a policy to map it; or is suspended, and mappable: not by a person, without a claim. */
const char *engine_validate_mappable(const struct engine *engine, uint32_t task);
const char *engine_validate_suspended(const struct engine *engine, uint32_t task);

/*
 * Whether a START, RESUME or SUSPEND is legal but for who is on its nodes now, and of a RESUME that the
 * task runs still; otherwise why not.
 */
const char *engine_validate_but_nodes(const struct engine *engine, const struct sched_action *action);

/* plan_prune.c */

/*
 * Of a plan that is older than what it is about: which STARTs and RESUMEs cannot be, and which SUSPENDs
 * were for these alone and would stop a task for nobody. `refused`: per action, what is left out
 * anyhow; NULL: nothing. Per action, to be freed with g_free().
 */
bool *engine_find_stale(const struct engine *engine, const struct sched_plan *plan,
		       const bool *refused);
