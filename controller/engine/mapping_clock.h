/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/engine.h"

/*
 * The mapping clock: the number of the next periodic mapping event, and the changes for which
 * others are held. mapping_event.c holds the events.
 */

/* Initialises engine->mapping_clock: event 0 is next, nothing has changed. */
void engine_mapping_clock_init(struct engine *engine);
void engine_mapping_clock_finish(struct engine *engine);

/* The time of periodic mapping event number `event`, from 0. */
double engine_event_s(const struct engine *engine, uint64_t event);

/* Number and time of the next periodic mapping event. */
uint64_t engine_next_event(const struct engine *engine);
double engine_next_event_s(const struct engine *engine);
/* The time of the first periodic mapping event, from the next one on, that is after time_s. */
double engine_event_after_s(const struct engine *engine, double time_s);
/* Leaves out the periodic mapping events before the last one at now_s or earlier. */
void engine_skip_missed_events(struct engine *engine, double now_s);
void engine_set_next_event(struct engine *engine, uint64_t event);

/* Notes that a task or a node changed: a plan that the policy is making now may be old. */
void engine_note_change(struct engine *engine);

/*
 * Has a mapping event held for a change: tasks ended or were submitted or released, or nodes
 * changed. Where the policy decides at periodic events alone it has no effect.
 */
void engine_want_mapping(struct engine *engine);

/* Whether a mapping event for a change is wanted. */
bool engine_mapping_wanted(const struct engine *engine);

/* Whether the last mapping event knew all that changed, and tasks that arrived up to `time_s`. */
bool engine_has_considered(const struct engine *engine, double time_s);

/*
 * Whether tasks or nodes changed since the policy was asked on its thread. After
 * engine_renew_plan() the changes up to now do not count: the plan made them.
 */
bool engine_plan_is_old(const struct engine *engine);
void engine_renew_plan(struct engine *engine);

/* Notes that a mapping event is being held, which knows all that changed. */
void engine_note_considered(struct engine *engine, double now_s);
/* The time of the last mapping event; -INFINITY: there was none. */
double engine_considered_s(const struct engine *engine);

/* Notes that the policy is asked for a change; the time when it was last, -INFINITY: never. */
void engine_note_asked(struct engine *engine, double now_s);
double engine_asked_s(const struct engine *engine);

/* For a full state (full_state.h), as in the headers of the other owners: false: it is none. */
json_t *engine_save_clock(const struct engine *engine);
bool engine_load_clock(struct engine *engine, const json_t *state);
