/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/state_json.h"

struct mapping_clock {
	uint64_t event_next; /* number of the next periodic mapping event */
	/* Since the last event tasks ended or were submitted or released, or nodes changed. */
	bool change_pending;
	uint64_t changes; /* number of changes of tasks and nodes, at least */
	/*
	 * `changes` when the policy was last asked on its thread, plus the changes by its plan
	 * alone.
	 */
	uint64_t asked_changes;
	double asked_s;      /* time of the last mapping event for a change; -INFINITY: none */
	double considered_s; /* deferred tasks up to this time were considered */
};

void engine_mapping_clock_init(struct engine *engine)
{
	engine->mapping_clock = g_new(struct mapping_clock, 1);
	*engine->mapping_clock = (struct mapping_clock){
		.asked_s = -INFINITY,
		.considered_s = -INFINITY,
	};
}

void engine_mapping_clock_finish(struct engine *engine)
{
	g_free(engine->mapping_clock);
}

double engine_event_s(const struct engine *engine, uint64_t event)
{
	return (double)event * engine->setup.mapping_interval_s;
}

uint64_t engine_next_event(const struct engine *engine)
{
	return engine->mapping_clock->event_next;
}

double engine_next_event_s(const struct engine *engine)
{
	return engine_event_s(engine, engine->mapping_clock->event_next);
}

/*
 * A periodic event from which few steps lead to time_s: the next one, or a later one at time_s or
 * earlier. Events missed in a long interruption are not counted one by one.
 */
static uint64_t event_before(const struct engine *engine, double time_s)
{
	const double near = floor(time_s / engine->setup.mapping_interval_s) - 2;
	const uint64_t next = engine->mapping_clock->event_next;

	return near > (double)next && near < 0x1p53 ? (uint64_t)near : next;
}

double engine_event_after_s(const struct engine *engine, double time_s)
{
	uint64_t event = event_before(engine, time_s);

	while (engine_event_s(engine, event) <= time_s)
		event++;
	return engine_event_s(engine, event);
}

void engine_skip_missed_events(struct engine *engine, double now_s)
{
	uint64_t event = event_before(engine, now_s);

	while (engine_event_s(engine, event + 1) <= now_s)
		event++;
	engine->mapping_clock->event_next = event;
}

void engine_set_next_event(struct engine *engine, uint64_t event)
{
	engine->mapping_clock->event_next = event;
}

void engine_note_change(struct engine *engine)
{
	engine->mapping_clock->changes++;
}

void engine_want_mapping(struct engine *engine)
{
	engine->mapping_clock->change_pending = true;
}

bool engine_mapping_wanted(const struct engine *engine)
{
	return engine->mapping_clock->change_pending;
}

bool engine_has_considered(const struct engine *engine, double time_s)
{
	return !engine->mapping_clock->change_pending &&
	       engine->mapping_clock->considered_s >= time_s;
}

bool engine_plan_is_old(const struct engine *engine)
{
	return engine->mapping_clock->changes != engine->mapping_clock->asked_changes;
}

void engine_renew_plan(struct engine *engine)
{
	engine->mapping_clock->asked_changes = engine->mapping_clock->changes;
}

void engine_note_considered(struct engine *engine, double now_s)
{
	engine->mapping_clock->change_pending = false;
	engine->mapping_clock->considered_s = now_s;
}

double engine_considered_s(const struct engine *engine)
{
	return engine->mapping_clock->considered_s;
}

void engine_note_asked(struct engine *engine, double now_s)
{
	engine->mapping_clock->asked_s = now_s;
}

double engine_asked_s(const struct engine *engine)
{
	return engine->mapping_clock->asked_s;
}

/* Full states. */

static const struct state_field clock_fields[] = {
	STATE_FIELD(mapping_clock, event_next, U64),
	STATE_FIELD(mapping_clock, change_pending, BOOL),
	STATE_FIELD(mapping_clock, asked_s, SUM),
	STATE_FIELD(mapping_clock, considered_s, SUM),
	{NULL},
};

json_t *engine_save_clock(const struct engine *engine)
{
	json_t *state = state_write(clock_fields, engine->mapping_clock);

	/* Only whether the numbers of changes differ matters. */
	state_put(state, "plan_is_old", engine_plan_is_old(engine) ? json_true() : NULL);
	return state;
}

bool engine_load_clock(struct engine *engine, const json_t *state)
{
	struct mapping_clock *clock = engine->mapping_clock;

	clock->changes = clock->asked_changes + json_is_true(json_object_get(state, "plan_is_old"));
	return state_read(clock_fields, state, clock);
}
