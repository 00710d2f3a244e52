/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the snapshot that a policy decides on. */
#include <math.h>
#include <stdlib.h>

#include "controller/engine/mapping.h"
#include "controller/engine/placement.h"
#include "controller/engine/nodes.h"
#include "controller/engine/reservations.h"
#include "controller/engine/state.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/window.h"

static int compare_waiting(const void *left, const void *right)
{
	const struct sched_task *a = *(const struct sched_task *const *)left;
	const struct sched_task *b = *(const struct sched_task *const *)right;

	return sched_task_before(b, a) - sched_task_before(a, b);
}

/* Whether a list in the order of arrival is in the order of priorities as well. */
static bool is_in_order(const struct engine *engine, const struct task_list *list)
{
	for (uint32_t i = 1; i < list->count; i++)
		if (engine->known[list->ids[i - 1]].priority < engine->known[list->ids[i]].priority)
			return false;
	return true;
}

/* Fills engine->waiting_tasks in the order that snapshots have. */
static void list_waiting(struct engine *engine)
{
	if (!task_list_settle(&engine->waiting))
		return;
	for (uint32_t i = 0; i < engine->waiting.count; i++)
		engine->waiting_tasks[i] = engine->tasks[engine->waiting.ids[i]].task;
	if (!is_in_order(engine, &engine->waiting))
		qsort(engine->waiting_tasks, engine->waiting.count, sizeof(*engine->waiting_tasks),
		      compare_waiting);
}

/*
 * The time of the next periodic event after now_s, also for a change at the very time of an event.
 */
static double next_event_s(const struct engine *engine, double now_s, bool between)
{
	const uint64_t event = engine->event_next + !between;
	const double event_s = engine_event_s(engine, event);

	return event_s > now_s ? event_s : engine_event_s(engine, event + 1);
}

struct sched_snapshot engine_take_snapshot(struct engine *engine, double now_s, bool between)
{
	struct sched_snapshot snapshot;

	const struct engine_setup *setup = &engine->setup;
	const bool lead = setup->lead_s > 0 && !engine->day_begun;
	const double limit_j = lead ? setup->lead_limit_j : setup->limit_j;

	list_waiting(engine);
	running_list_settle(&engine->running);
	snapshot = (struct sched_snapshot){
		.system = setup->system,
		.seed = setup->seed,
		.event = engine->event_next,
		.now_s = now_s,
		.next_event_s = next_event_s(engine, now_s, between),
		.between = between,
		.day_start_s = lead ? 0 : setup->lead_s,
		.end_s = lead ? setup->lead_s : setup->duration_s,
		.consumed_j = backend_energy_j(engine->backend) - engine->day_j,
		.budget_j = limit_j > 0 ? limit_j : INFINITY,
		.gate = setup->gate,
		.completed_count = engine->result.tasks_completed,
		.completed_j = engine->completed_j,
		.completed_resources = engine->completed_resources,
		.waiting_count = engine->waiting.count,
		.waiting = engine->waiting_tasks,
		.running_count = engine->running.count,
		.running = engine->running.entries,
	};
	snapshot.suspended = engine_list_suspended(engine, &snapshot.suspended_count);
	snapshot.reservations = engine_reservations(engine, &snapshot.reservations_count);
	snapshot.placeholders = engine_placeholders(engine, &snapshot.placeholders_count);
	snapshot.down = engine_closed_nodes(engine, &snapshot.down_count);
	engine->placement->fill_snapshot(engine, &snapshot);
	engine_window_filter(engine, &snapshot);
	return snapshot;
}
