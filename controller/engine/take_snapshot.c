/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the snapshot that a policy decides on. */
#include <math.h>
#include <stdlib.h>

#include "controller/engine/shared_nodes.h"
#include "controller/engine/mapping.h"
#include "controller/engine/queues.h"
#include "controller/engine/state.h"
#include "controller/engine/window.h"

static int compare_waiting(const void *left, const void *right)
{
	const struct sched_task *a = *(const struct sched_task *const *)left;
	const struct sched_task *b = *(const struct sched_task *const *)right;

	return sched_task_before(b, a) - sched_task_before(a, b);
}

static int compare_suspended(const void *left, const void *right)
{
	const struct sched_suspended *a = left;
	const struct sched_suspended *b = right;

	return sched_task_before(b->task, a->task) - sched_task_before(a->task, b->task);
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

void engine_list_suspended(struct engine *engine)
{
	if (!task_list_settle(&engine->suspended))
		return;
	for (uint32_t i = 0; i < engine->suspended.count; i++) {
		const struct engine_task *task = &engine->tasks[engine->suspended.ids[i]];

		engine->suspended_tasks[i] = (struct sched_suspended){
			.task = task->task,
			.cluster = task->cluster,
			.pstate = task->pstate,
			.nodes_count = task->nodes_count,
			.executed_s = task->executed_s,
			.virtual_s = task->virtual_s,
		};
	}
	if (!is_in_order(engine, &engine->suspended))
		qsort(engine->suspended_tasks, engine->suspended.count,
		      sizeof(*engine->suspended_tasks), compare_suspended);
}

/*
 * Appends a task's departing nodes that are up and unclaimed to engine->down_nodes. Returns their
 * number.
 */
static uint32_t append_departing(struct engine *engine, const struct engine_task *task,
				 const uint32_t *nodes, uint32_t nodes_count, uint32_t count)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < nodes_count; i++)
		if (engine->allocated[task->cluster][nodes[i]] == ENGINE_NO_TASK &&
		    !engine->down[task->cluster][nodes[i]])
			engine->down_nodes[count + added++] =
				(struct sched_node){task->cluster, nodes[i]};
	return added;
}

/*
 * Fills engine->down_nodes with the nodes that cannot take tasks: those that are down, and
 * departing nodes without a claim. Returns their number.
 */
static uint32_t list_down(struct engine *engine)
{
	uint32_t count = engine->down_count;

	if (engine->shared_nodes)
		return count; /* hosts that VMs are leaving may still have room for others */
	task_list_settle(&engine->leaving);
	for (uint32_t i = 0; i < engine->leaving.count; i++) {
		const struct engine_task *task = &engine->tasks[engine->leaving.ids[i]];

		count += append_departing(engine, task, task->nodes, task->nodes_count, count);
	}
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const uint32_t index = engine->running.entries[i].task->id;
		const struct migration *migration = engine->migrations[index];

		if (engine->tasks[index].state == ENGINE_TASK_MIGRATING)
			count += append_departing(engine, &engine->tasks[index], migration->left,
						  migration->left_count, count);
	}
	return count;
}

/* Fills in yields and virtual times of the running tasks. */
static void list_shares(struct engine *engine, double now_s)
{
	for (uint32_t i = 0; engine->shared_nodes && i < engine->running.count; i++) {
		struct sched_running *running = &engine->running.entries[i];
		const struct engine_task *task = &engine->tasks[running->task->id];

		running->yield = task->yield;
		running->virtual_s = engine_virtual_s(task, now_s);
		running->busy = task->state != ENGINE_TASK_RUNNING;
	}
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
	engine_list_suspended(engine);
	running_list_settle(&engine->running);
	list_shares(engine, now_s);
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
		.suspended_count = engine->suspended.count,
		.suspended = engine->suspended_tasks,
		.running_count = engine->running.count,
		.running = engine->running.entries,
		.reservations_count = engine->reservations.count,
		.reservations = engine->reservations.entries,
		.placeholders_count = engine->placeholders.count,
		.placeholders = engine->placeholders.entries,
		.down_count = list_down(engine),
		.down = engine->down_nodes,
		.deferred_count = engine_list_deferred(engine),
		.deferred = engine->deferred,
	};
	engine_list_queues(engine, &snapshot);
	engine_window_filter(engine, &snapshot);
	return snapshot;
}
