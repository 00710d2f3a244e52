/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "controller/engine/backend_events.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/migration.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/places.h"
#include "controller/engine/reservations.h"
#include "controller/engine/restore.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/users.h"
#include "controller/engine/window.h"

const char *const engine_end_names[] = {"none", "limit", "time", "done", "aborted", NULL};

const char *engine_end_name(enum engine_end end)
{
	return end > ENGINE_END_NONE && end <= ENGINE_END_ABORTED ? engine_end_names[end] : NULL;
}

/*
 * The arrays of an open workload are long: parts without tasks must not be touched, so that they
 * cost no memory.
 */
static void allocate_tasks(struct engine *engine, uint32_t count)
{
	engine->tasks = g_new0(struct engine_task, count);
	engine->known = g_new(struct sched_task, count);
	engine_places_init(engine, count);
	engine_suspensions_init(engine, count);
	engine_migrations_init(engine, count);
	engine_records_init(engine, count);
	engine_waiting_init(engine, count);
	running_list_init(&engine->running, count);
	engine_planned_init(engine, count);
	engine_utility_log_init(engine);
	engine_decision_record_init(engine);
	engine_window_init(engine, count);
}

static void init_tasks(struct engine *engine)
{
	const struct workload *workload = engine->setup.workload;
	const uint32_t count = workload->tasks_count;

	allocate_tasks(engine, workload_room(workload));
	if (count > 0)
		memcpy(engine->known, workload->tasks, count * sizeof(*workload->tasks));
	for (uint32_t i = 0; i < count; i++)
		engine_init_known(engine, i);
}

struct engine *engine_new(const struct engine_setup *setup, struct backend *backend)
{
	struct engine *engine = g_new0(struct engine, 1);

	engine->setup = *setup;
	engine->placement = placement_of(setup->system);
	engine->backend = setup->recorder && setup->recorder->listen
				  ? setup->recorder->listen(setup->recorder, setup, backend)
				  : backend;
	engine_mapping_clock_init(engine);
	engine_decider_init(engine);
	engine_counters_init(engine);
	engine_users_init(engine);
	init_tasks(engine);
	engine_nodes_init(engine, workload_room(setup->workload));
	engine->because = g_malloc0(ENGINE_BECAUSE_SIZE);
	engine->placement->init(engine);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (!engine)
		return;
	engine_decider_finish(engine);
	engine_mapping_clock_finish(engine);
	engine_decision_record_finish(engine);
	engine_suspensions_finish(engine);
	engine_migrations_finish(engine);
	engine->placement->finish(engine);
	engine_places_finish(engine);
	engine_nodes_finish(engine);
	g_free(engine->tasks);
	g_free(engine->known);
	engine_records_finish(engine);
	engine_waiting_finish(engine);
	running_list_finish(&engine->running);
	engine_planned_finish(engine);
	engine_utility_log_finish(engine);
	engine_users_finish(engine);
	engine_window_finish(engine);
	g_free(engine->because);
	engine_counters_finish(engine);
	g_free(engine->reason);
	g_free(engine);
}

const char *engine_reason(const struct engine *engine)
{
	return engine->reason;
}

static void end_run(struct engine *engine, enum engine_end ended_by, double time_s)
{
	engine->ended = true;
	engine_count_end(engine, ended_by, time_s);
}

/*
 * Has the backend report when the energy reaches the next mark, or after the last mark the limit.
 */
static void watch_energy(struct engine *engine)
{
	if (engine->setup.gate || engine_window_is_set(engine))
		/*
		 * Gate: no task starts that the limit does not allow for. Window: window_turn.c
		 * sets the limit.
		 */
		return;
	backend_set_limit(engine->backend, engine_has_mark(engine) ? engine_next_mark_j(engine)
								   : engine->setup.limit_j);
}

static void handle_limit(struct engine *engine, double time_s)
{
	if (engine_window_is_set(engine)) {
		engine_window_reach(engine, time_s);
		return;
	}
	/* Without a limit of the run the report is about a window's that was removed meanwhile. */
	if (!engine_has_mark(engine) && !(engine->setup.limit_j > 0))
		return;
	if (!engine_has_mark(engine)) {
		engine_record_object(engine, time_s, ENGINE_EVENT_LIMIT,
				     json_pack("{s:f}", "limit_j", engine->setup.limit_j));
		end_run(engine, ENGINE_END_LIMIT, time_s);
		return;
	}
	engine_arrive(engine, time_s);
	engine_reach_mark(engine, time_s);
	watch_energy(engine);
}

/* Whether all tasks have ended and none is to come. */
static bool is_done(const struct engine *engine)
{
	uint32_t reserved;

	if (engine->setup.open || engine->arrivals_next < engine->setup.workload->tasks_count ||
	    engine_has_waiting(engine) || engine->running.count > 0 ||
	    isfinite(engine_users_next_s(engine)))
		return false;
	engine_reservations(engine, &reserved);
	return !engine_has_suspensions(engine) && reserved == 0 &&
	       !engine->placement->has_queued(engine);
}

/*
 * Handles the time that engine_next_s() said: the end, a window, planned starts, or a mapping
 * event.
 */
static void handle_time(struct engine *engine, double time_s)
{
	const double duration_s = engine->setup.duration_s;

	if (time_s >= duration_s) {
		end_run(engine, ENGINE_END_TIME, duration_s);
	} else if (time_s >= engine_window_next_s(engine)) {
		engine_window_begin_next(engine, time_s);
	} else if (time_s < engine_next_event_s(engine)) {
		engine_start_due(engine, time_s);
		if (engine_next_change_s(engine, time_s) <= time_s)
			engine_map_change(engine, time_s);
	} else {
		/* After a long interruption only the last of the missed events is held. */
		engine_skip_missed_events(engine, backend_now_s(engine->backend));
		engine_map(engine, engine_next_event_s(engine));
	}
}

static double next_time_s(const struct engine *engine)
{
	const double event_s = engine_next_event_s(engine);
	const double change_s = engine_next_change_s(engine, backend_now_s(engine->backend));

	return fmin(fmin(fmin(event_s, change_s), engine->setup.duration_s),
		    fmin(engine_next_reservation_s(engine), engine_window_next_s(engine)));
}

/* The run in steps. */

/* Takes a decision that is there, and sets when there is more to do. */
static void look_ahead(struct engine *engine)
{
	engine->stirred = false;
	engine_take_answer(engine);
	engine->next_s = next_time_s(engine);
}

void engine_begin_run(struct engine *engine)
{
	g_auto(engine_noting) noting = engine_note(engine, ENGINE_INPUT_BEGIN, NULL);

	watch_energy(engine);
	engine_resend_steps(engine);
	if (!engine->ended)
		look_ahead(engine);
}

double engine_next_s(const struct engine *engine)
{
	return engine->stirred ? -INFINITY : engine->next_s;
}

bool engine_has_ended(const struct engine *engine)
{
	return engine->ended;
}

static void handle_event(struct engine *engine, const struct backend_event *event)
{
	if (event->kind == BACKEND_EVENT_NONE)
		handle_time(engine, engine->next_s);
	else if (event->kind == BACKEND_EVENT_ENERGY_LIMIT)
		handle_limit(engine, event->time_s);
	else
		engine_handle(engine, event);
	engine_window_enforce(engine);
	if (!engine->ended && is_done(engine))
		end_run(engine, ENGINE_END_DONE,
			event->kind == BACKEND_EVENT_NONE ? backend_now_s(engine->backend)
							  : event->time_s);
}

void engine_event(struct engine *engine, const struct backend_event *event)
{
	if (engine->ended)
		return;

	g_auto(engine_noting) noting =
		!engine_notes(engine) ? (engine_noting){NULL}
		: event->kind == BACKEND_EVENT_NONE
			? engine_note_at(engine, ENGINE_INPUT_TIME, event->time_s, NULL)
			: engine_note_event(engine, ENGINE_INPUT_EVENT, event);

	if (event->kind != BACKEND_EVENT_NONE || event->time_s >= engine->next_s)
		handle_event(engine, event);
	else /* a request of a user may have moved the next time forward */
		engine_window_enforce(engine);
	if (!engine->ended)
		look_ahead(engine);
}
