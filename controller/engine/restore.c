/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/migration.h"
#include "controller/engine/placement.h"
#include "controller/engine/reservations.h"
#include "controller/engine/restore.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"

/* States of records whose tasks do not start again by themselves. */
#define NOT_RESTARTED (ENGINE_TASK_SETTLED | ENGINE_TASK_SET(ENGINE_TASK_QUARANTINED))

/* Gives a task its state; engine_restore_task() has checked that it has none yet. */
static void restore_state(struct engine_task *task, enum engine_task_state state)
{
	if (!engine_task_restore(&task->state, state))
		g_critical("task %u is %s: it cannot be restored as %s", task->task->id,
			   engine_task_state_name(task->state), engine_task_state_name(state));
}

static bool placement_exists(const struct engine *engine, const struct engine_task *task,
			     const struct engine_task *record)
{
	const struct sched_system *system = engine->setup.system;
	const struct sched_option *option;

	if (!engine->placement->restorable || task->task->row >= system->rows_count)
		return false;
	option = sched_system_option(system, task->task->row, record->cluster, record->pstate);
	if (!option || option->nodes != record->nodes_count)
		return false;
	for (uint32_t i = 0; i < record->nodes_count; i++)
		if (record->nodes[i] >= system->clusters[record->cluster].nodes)
			return false;
	return true;
}

/* Restores a task that was starting or running; the backend reports later if it is not any more. */
static void restore_running(struct engine *engine, uint32_t index, const struct engine_task *record)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running;

	restore_state(task, record->state);
	task->started_s = task->since_s = record->started_s;
	task->expected_end_s = engine_expected_end_s(task, task->since_s);
	engine->placement->allocate(engine, index, task->nodes);
	running = engine_running(engine, index, task->nodes, task->since_s);
	running_list_insert(&engine->running, &running);
	engine_set_preemptible(engine, index);
}

/*
 * Restores a task that is suspended or being suspended; engine_restore_suspension() restores the
 * details.
 */
static bool restore_suspended(struct engine *engine, uint32_t index,
			      const struct engine_task *record)
{
	struct engine_task *task = &engine->tasks[index];

	if (record->nodes_count == 0 || !isfinite(record->started_s))
		return false;
	restore_state(task, record->state);
	task->since_s = record->started_s;
	return true;
}

/*
 * Restores a reservation, or a place-holder, which stands until the next mapping event. A claim is
 * restored as a reservation.
 */
static void restore_planned(struct engine *engine, uint32_t index, const struct engine_task *record)
{
	struct engine_task *task = &engine->tasks[index];
	const double start_s = record->planned_start_s;

	restore_state(task, ENGINE_TASK_PLANNED);
	task->reservation = record->reservation;
	if (task->reservation)
		task->promised_s = start_s;
	else
		engine_enqueue_waiting(engine, index);
	engine_insert_planned(engine, index, start_s, start_s + task->etc_s);
}

/* Restores an ended task and counts it. */
static void restore_ended(struct engine *engine, struct engine_task *task,
			  const struct engine_task *record)
{
	restore_state(task, record->state);
	task->ended_s = record->ended_s;
	task->exec_s = record->exec_s;
	task->energy_j = record->energy_j;
	task->utility = record->utility;
	task->reason = record->reason;
	engine_release_reason(engine, task);
	engine_rebuild_utility_log(engine);
	engine_count_utility(engine, record->utility);
	if (record->state == ENGINE_TASK_COMPLETED)
		engine_count_completed(engine, task);
	else if (record->state == ENGINE_TASK_DROPPED)
		engine_count_dropped(engine);
	else if (record->state == ENGINE_TASK_FAILED || record->state == ENGINE_TASK_KILLED)
		engine_count_failed(engine);
}

/*
 * Sets the next mapping event to the next one in time. (A new run begins with event 0 even if real
 * time is a few milliseconds later already.)
 */
static void restore_time(struct engine *engine)
{
	const double now_s = fmax(backend_now_s(engine->backend), 0);

	engine_set_next_event(engine, (uint64_t)ceil(now_s / engine->setup.mapping_interval_s));
}

/* Whether the configuration still has the cluster, nodes and type of a record. */
static bool is_possible(const struct engine *engine, const struct engine_task *task,
			const struct engine_task *record)
{
	const bool planned = record->state == ENGINE_TASK_PLANNED;

	if ((planned || engine_task_state_in(record->state, ENGINE_TASK_ON_NODES) ||
	     record->nodes_count > 0) &&
	    !placement_exists(engine, task, record))
		return false;
	if (!engine_task_state_in(record->state, NOT_RESTARTED) &&
	    task->task->row >= engine->setup.system->rows_count)
		return false;
	return !planned || isfinite(record->planned_start_s);
}

/*
 * Restores the waiting time as if the last attempt was the first; engine_restore_lost() corrects
 * it.
 */
static void restore_waiting(struct engine_task *task, const struct engine_task *record)
{
	const bool started = isfinite(record->started_s);
	const bool waits =
		engine_task_state_in(record->state,
				     ENGINE_TASK_PENDING | ENGINE_TASK_SET(ENGINE_TASK_UNFINISHED));

	task->waited_s = started ? fmax(0, record->started_s - task->task->arrival_s) : 0;
	task->waits_since_s = NAN;
	if (!started)
		task->waits_since_s = task->task->arrival_s;
	else if (waits)
		task->waits_since_s =
			isfinite(record->ended_s) ? record->ended_s : record->started_s;
}

void engine_restore_lost(struct engine *engine, uint32_t index, uint32_t attempt, double started_s,
			 double ended_s)
{
	struct engine_task *task;

	if (index >= engine->setup.workload->tasks_count || !(ended_s >= started_s))
		return;
	task = &engine->tasks[index];
	if (task->state == ENGINE_TASK_COMING || task->state == ENGINE_TASK_QUARANTINED)
		return;
	if (attempt < task->attempts)
		task->waited_s = fmax(0, task->waited_s - (ended_s - started_s));
	else if (attempt == task->attempts)
		task->waits_since_s = ended_s;
}

/* Restores a task whose record has no claim. */
static bool restore_unclaimed(struct engine *engine, uint32_t index,
			      const struct engine_task *record)
{
	struct engine_task *task;
	const bool running = engine_task_state_in(record->state, ENGINE_TASK_ON_NODES);
	const bool suspended =
		record->state == ENGINE_TASK_SUSPENDING || record->state == ENGINE_TASK_SUSPENDED;
	const bool queued = record->state == ENGINE_TASK_QUEUED;

	if (index >= engine->setup.workload->tasks_count ||
	    engine->tasks[index].state != ENGINE_TASK_COMING ||
	    record->state == ENGINE_TASK_QUARANTINED)
		return false;
	restore_time(engine);
	task = &engine->tasks[index];
	if (record->state == ENGINE_TASK_COMING)
		return true;
	if (!is_possible(engine, task, record))
		return false;
	if (record->nodes_count > 0)
		engine_set_place(engine, index, record->cluster, record->pstate, record->nodes,
				 record->nodes_count);
	task->attempts = record->attempts;
	task->attempts_before = engine->setup.open ? record->attempts : 0;
	task->queued_n = record->queued_n;
	task->chance = record->chance;
	task->threshold = record->threshold;
	if (running && !isfinite(record->started_s))
		return false;
	if ((running || queued) && !engine->placement->restore_place(engine, index, record))
		return false;
	if (running)
		restore_running(engine, index, record);
	else if (queued)
		restore_state(task, record->state);
	if (suspended && !restore_suspended(engine, index, record))
		return false;
	engine_count_arrived(engine);
	task->planned_start_s = record->planned_start_s;
	task->started_s = record->started_s;
	restore_waiting(task, record);
	if (record->state == ENGINE_TASK_PLANNED) {
		restore_planned(engine, index, record);
	} else if (record->state == ENGINE_TASK_WAITING ||
		   record->state == ENGINE_TASK_UNFINISHED) {
		restore_state(task, ENGINE_TASK_WAITING);
		engine_enqueue_waiting(engine, index);
	} else if (!running && !suspended && !queued) {
		restore_ended(engine, task, record);
	}
	engine_untouch(engine, index);
	return true;
}

bool engine_restore_task(struct engine *engine, uint32_t index, const struct engine_task *record)
{
	struct engine_task unclaimed = *record;

	unclaimed.state = engine_task_without_claim(record->state);
	if (!restore_unclaimed(engine, index, &unclaimed))
		return false;
	if (unclaimed.state != record->state)
		engine_touch(engine, index);
	return true;
}

bool engine_restore_quarantined(struct engine *engine, uint32_t index, uint32_t attempts,
				const char *reason)
{
	struct engine_task *task;

	if (index >= engine->setup.workload->tasks_count ||
	    engine->tasks[index].state != ENGINE_TASK_COMING)
		return false;
	restore_time(engine);
	task = &engine->tasks[index];
	engine_move_task(engine, index, ENGINE_TASK_QUARANTINE);
	task->waits_since_s = task->task->arrival_s;
	task->attempts = attempts;
	task->attempts_before = engine->setup.open ? attempts : 0;
	task->reason = reason;
	engine_count_arrived(engine);
	return true;
}

void engine_restore_pruner(struct engine *engine, const struct sched_pruner *pruner)
{
	engine->placement->restore_pruner(engine, pruner);
}

/* Sets the nodes of a task, and its place among the running, after its last suspension. */
static void restore_step(struct engine *engine, const struct engine_suspension *record)
{
	const uint32_t index = record->task;
	struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running;

	switch (task->state) {
	case ENGINE_TASK_SUSPENDING:
		engine->placement->set_departing(engine, index, task->cluster, record->nodes,
						 record->nodes_count, true);
		break;
	case ENGINE_TASK_RUNNING:
	case ENGINE_TASK_MIGRATING:
	case ENGINE_TASK_RESUMING:
		running = engine_running(engine, index, task->nodes,
					 isfinite(record->since_s) ? record->since_s
								   : record->resume_requested_s);
		task->expected_end_s = running.end_s;
		running_list_remove(&engine->running, index);
		running_list_insert(&engine->running, &running);
		break;
	default:
		break;
	}
}

/* Whether the recorded steps of a suspension agree with the task's state. */
static bool agrees_with(const struct engine_task *task, const struct engine_suspension *record)
{
	switch (task->state) {
	case ENGINE_TASK_RUNNING:
	case ENGINE_TASK_MIGRATING:
		return !isfinite(record->suspended_s) || isfinite(record->since_s);
	case ENGINE_TASK_RESUMING:
		return isfinite(record->suspended_s) && isfinite(record->resume_requested_s);
	case ENGINE_TASK_SUSPENDED:
		return isfinite(record->suspended_s);
	default:
		return true;
	}
}

bool engine_restore_suspension(struct engine *engine, const struct engine_suspension *record)
{
	struct engine_task *task;
	bool good;

	if (record->task >= engine->setup.workload->tasks_count)
		return false;
	task = &engine->tasks[record->task];
	if (record->attempt != task->attempts ||
	    !engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY))
		return record->attempt <= task->attempts;
	good = record->cluster == task->cluster && record->nodes_count == task->nodes_count &&
	       record->n == task->suspensions + 1;
	for (uint32_t i = 0; good && i < record->nodes_count; i++)
		good = record->nodes[i] < engine->setup.system->clusters[task->cluster].nodes;
	if (!good)
		return false;
	engine_reattach_suspension(engine, record);
	if ((task->state == ENGINE_TASK_RUNNING || task->state == ENGINE_TASK_MIGRATING) &&
	    !isfinite(record->suspended_s))
		return true; /* the suspension failed: its number is used again */
	task->suspensions++;
	if (isfinite(record->suspended_s))
		task->executed_s += record->exec_s;
	if (isfinite(record->since_s))
		task->since_s = record->since_s;
	restore_step(engine, record);
	return true;
}

bool engine_restore_migration(struct engine *engine, const struct engine_migration *record)
{
	const uint32_t nodes = engine->setup.system->clusters[record->cluster].nodes;
	struct engine_task *task;
	bool good;

	if (record->task >= engine->setup.workload->tasks_count)
		return false;
	task = &engine->tasks[record->task];
	if (record->attempt != task->attempts ||
	    !engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY))
		return record->attempt <= task->attempts;
	good = record->cluster == task->cluster && record->nodes_count == task->nodes_count &&
	       record->n == task->migrations + 1 &&
	       engine_migration_state(engine, record->task) != MIGRATION_MIGRATING;
	for (uint32_t i = 0; good && i < record->nodes_count; i++)
		good = record->nodes[i] < nodes && record->to_nodes[i] < nodes;
	if (!good)
		return false;
	task->migrations++;
	if (task->state == ENGINE_TASK_MIGRATING && !isfinite(record->ended_s))
		engine_reattach_migration(engine, record);
	return true;
}

bool engine_restore_is_complete(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const bool steps = task->state == ENGINE_TASK_SUSPENDING ||
			   task->state == ENGINE_TASK_SUSPENDED ||
			   task->state == ENGINE_TASK_RESUMING;

	if (steps &&
	    (task->suspensions == 0 || !agrees_with(task, engine_suspension_at(engine, index))))
		return false;
	if (task->state == ENGINE_TASK_MIGRATING &&
	    engine_migration_state(engine, index) != MIGRATION_MIGRATING)
		return false;
	return !((task->state == ENGINE_TASK_RUNNING || task->state == ENGINE_TASK_MIGRATING) &&
		 task->suspensions > 0 && !agrees_with(task, engine_suspension_at(engine, index)));
}

void engine_queue_again(struct engine *engine)
{
	engine->placement->resend_queues(engine);
}

void engine_resend_steps(struct engine *engine)
{
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++) {
		if (engine->tasks[i].state == ENGINE_TASK_SUSPENDING)
			engine_launch_suspend(engine, i);
		else if (engine->tasks[i].state == ENGINE_TASK_RESUMING)
			engine_launch_resume(engine, i);
		else if (engine->tasks[i].state == ENGINE_TASK_MIGRATING)
			engine_launch_migrate(engine, i);
		if (engine->tasks[i].request == REQUEST_CANCELLED &&
		    engine_task_state_in(engine->tasks[i].state, ENGINE_TASK_UNDER_WAY))
			backend_kill(engine->backend, i, engine->tasks[i].attempts);
	}
	engine_queue_again(engine);
	engine->placement->start_next(engine);
}
