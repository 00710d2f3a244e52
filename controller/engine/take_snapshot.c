/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the snapshot that a policy decides on. */
#include <math.h>

#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/reservations.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/window.h"

/*
 * The time of the next periodic event after now_s, also for a change at the very time of an event.
 */
static double next_event_s(const struct engine *engine, double now_s, bool between)
{
	const uint64_t event = engine_next_event(engine) + !between;
	const double event_s = engine_event_s(engine, event);

	return event_s > now_s ? event_s : engine_event_s(engine, event + 1);
}

struct sched_snapshot engine_take_snapshot(struct engine *engine, double now_s, bool between)
{
	struct sched_snapshot snapshot;

	const struct engine_setup *setup = &engine->setup;
	const bool lead = setup->lead_s > 0 && !engine_day_begun(engine);
	const double limit_j = lead ? setup->lead_limit_j : setup->limit_j;

	running_list_settle(&engine->running);
	snapshot = (struct sched_snapshot){
		.system = setup->system,
		.seed = setup->seed,
		.event = engine_next_event(engine),
		.now_s = now_s,
		.next_event_s = next_event_s(engine, now_s, between),
		.between = between,
		.day_start_s = lead ? 0 : setup->lead_s,
		.end_s = lead ? setup->lead_s : setup->duration_s,
		.consumed_j = engine_consumed_j(engine),
		.budget_j = limit_j > 0 ? limit_j : INFINITY,
		.gate = setup->gate,
		.completed_count = engine_counts(engine)->tasks_completed,
		.completed_j = engine_completed_j(engine),
		.completed_resources = engine_completed_resources(engine),
		.running_count = engine->running.count,
		.running = engine->running.entries,
	};
	snapshot.waiting = engine_list_waiting(engine, &snapshot.waiting_count);
	snapshot.suspended = engine_list_suspended(engine, &snapshot.suspended_count);
	snapshot.reservations = engine_reservations(engine, &snapshot.reservations_count);
	snapshot.placeholders = engine_placeholders(engine, &snapshot.placeholders_count);
	snapshot.down = engine_closed_nodes(engine, &snapshot.down_count);
	engine->placement->fill_snapshot(engine, &snapshot);
	engine_window_filter(engine, &snapshot);
	return snapshot;
}
