/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/places.h"
#include "controller/engine/reservations.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspension_fsm.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"

/*
 * Suspending and resuming tasks (Machovec 2017, section II). Each step is prepared and recorded
 * before the backend is asked for it. A task that gets nodes which another task is still leaving
 * has a claim (nodes.h) and follows when they are free.
 */

/* Moves a task and its suspension on by what is one event for both. */
static void move(struct engine *engine, uint32_t index, enum engine_task_event task_event,
		 enum suspension_event event)
{
	engine_move_task(engine, index, task_event);
	engine_move_suspension(engine, index, event);
}

static void set_departing(struct engine *engine, const struct engine_suspension *record,
			  bool leaves)
{
	engine->placement->set_departing(engine, record->task, record->cluster, record->nodes,
					 record->nodes_count, leaves);
}

/* Suspending. */

void engine_begin_suspend(struct engine *engine, uint32_t index, bool by_person)
{
	struct engine_task *task = &engine->tasks[index];

	engine_window_note_end(engine, index, engine_now_s(engine));
	running_list_remove(&engine->running, index);
	engine->placement->end_interval(engine, index, engine_now_s(engine));
	engine->placement->free(engine, index, task->nodes);
	engine_move_task(engine, index, ENGINE_TASK_SUSPEND);
	task->suspensions++;
	engine_begin_suspension(engine, index);
	if (by_person)
		engine_move_resumption(engine, index, RESUMPTION_HOLD);
	set_departing(engine, engine_suspension_at(engine, index), true);
	engine_touch(engine, index);
	engine_record_suspension(engine, index);
}

void engine_launch_suspend(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	backend_suspend(engine->backend, index, task->attempts, task->suspensions);
}

/* Resuming. */

/*
 * The task's entry among the running ones from now on. A task that has used up its estimate has its
 * nodes until the next event: the mapping event that resumes it may be planned yet.
 */
static struct sched_allocation resumed_now(const struct engine *engine, uint32_t index,
					   const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];
	const double now_s = engine_now_s(engine);
	struct sched_allocation running = engine_running(engine, index, nodes, now_s);

	/* Its present interval is not yet in executed_s. */
	if (task->state == ENGINE_TASK_SUSPENDING) {
		running.executed_s += now_s - task->since_s;
		running.end_s = now_s + fmax(0, task->etc_s - running.executed_s);
	}
	if (running.end_s <= now_s)
		running.end_s = engine_event_after_s(engine, now_s);
	return running;
}

/* Prepares the resumption of a suspended task whose nodes are free. */
static void begin_resume_now(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	struct engine_suspension *suspension = engine_suspension_record(engine, index);

	move(engine, index, ENGINE_TASK_RESUME, SUSPENSION_RESUME);
	engine->placement->begin_interval(engine, index, engine->setup.virtual_pause_s);
	engine_set_nodes(engine, index, suspension->to_nodes, task->nodes_count);
	suspension->resume_requested_s = engine_now_s(engine);
	task->late = false;
	*running_list_find(&engine->running, index) = resumed_now(engine, index, task->nodes);
	task->expected_end_s = running_list_find(&engine->running, index)->end_s;
	engine_set_preemptible(engine, index);
	engine_touch(engine, index);
	engine_record_suspension(engine, index);
}

void engine_begin_resume(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running;

	engine_set_resume_nodes(engine, index, nodes);
	engine->placement->allocate(engine, index, nodes);
	engine_set_claim_waits(engine, index,
			       engine->placement->count_waits(engine, index, nodes) +
				       (task->state == ENGINE_TASK_SUSPENDING));
	running = resumed_now(engine, index, engine_suspension_at(engine, index)->to_nodes);
	running_list_add(&engine->running, &running);
	task->expected_end_s = running.end_s;
	if (engine_claim_waits(engine, index) == 0) {
		begin_resume_now(engine, index);
		return;
	}
	move(engine, index, ENGINE_TASK_CLAIM, SUSPENSION_CLAIM);
	engine_set_preemptible(engine, index);
}

void engine_launch_resume(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	engine->placement->send_share(engine, index);
	backend_resume(engine->backend, index, task->attempts, task->suspensions, task->nodes,
		       task->nodes_count);
}

/* Claims. */

/* Drops a claim. Reservations that were moved behind it are recomputed. */
static void drop_claim(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	engine_set_claim_waits(engine, index, 0);
	running_list_remove(&engine->running, index);
	if (task->claims_late)
		engine_replan_reservations(engine);
	task->claims_late = false;
}

void engine_unclaim(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	drop_claim(engine, index);
	if (task->state == ENGINE_TASK_CLAIMED) {
		engine->placement->free(engine, index, task->nodes);
		engine_cancel_planned(engine, index);
	} else {
		engine->placement->free(engine, index,
					engine_suspension_at(engine, index)->to_nodes);
		move(engine, index, ENGINE_TASK_UNPLAN, SUSPENSION_UNCLAIM);
	}
	engine_set_preemptible(engine, index);
	engine_record_task(engine, index);
}

void engine_unclaim_node(struct engine *engine, uint32_t cluster, uint32_t node)
{
	uint32_t claimant;

	while ((claimant = engine->placement->find_claimant(engine, cluster, node)) !=
	       ENGINE_NO_TASK) {
		engine_unclaim(engine, claimant);
		/* A defect must not end in an endless loop. */
		g_return_if_fail(!engine_has_claim(engine, claimant));
	}
}

static void carry_out_claim(struct engine *engine, uint32_t index)
{
	const bool resumes = engine->tasks[index].state == ENGINE_TASK_SUSPENDED_CLAIMED;

	if (engine->ended)
		return;
	engine->tasks[index].claims_late = false;
	if (resumes)
		begin_resume_now(engine, index);
	else
		engine_begin_claimed(engine, index);
	engine_record_task(engine, index);
	engine_flush(engine);
	if (engine->ended)
		return;
	if (resumes)
		engine_launch_resume(engine, index);
	else
		engine_launch(engine, index);
}

/*
 * Carries out the claims to nodes of a cluster that VMs have left, and that of the task `leaver`
 * (ENGINE_NO_TASK: none), which was leaving them.
 */
static void release_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
			   uint32_t count, uint32_t leaver)
{
	g_autofree uint32_t *due = g_new(uint32_t, MAX(count + 1, engine->running.count) + 1);
	uint32_t due_count;

	if (engine->ended)
		return;
	due_count = engine->placement->find_due_claims(engine, cluster, nodes, count, leaver, due);
	for (uint32_t i = 0; i < due_count; i++)
		carry_out_claim(engine, due[i]);
}

void engine_release_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
			   uint32_t count)
{
	release_claims(engine, cluster, nodes, count, ENGINE_NO_TASK);
}

/* To be called when a task is off the nodes that it was leaving: carries out the claims to them. */
static void leave_nodes(struct engine *engine, uint32_t index)
{
	const struct engine_suspension *suspension = engine_suspension_at(engine, index);
	const bool resumes = engine->tasks[index].state == ENGINE_TASK_SUSPENDED_CLAIMED;

	set_departing(engine, suspension, false);
	release_claims(engine, suspension->cluster, suspension->nodes, suspension->nodes_count,
		       resumes ? index : ENGINE_NO_TASK);
}

/* Events of the backend. */

static void add_overhead(struct backend_overhead *sum, const struct backend_event *event)
{
	if (event->kind == BACKEND_EVENT_SUSPENDED) {
		sum->freeze_s = event->overhead.freeze_s;
		sum->save_s = event->overhead.save_s;
		sum->skew_s = event->overhead.skew_s;
	} else {
		sum->restore_s = event->overhead.restore_s;
		sum->resume_s = event->overhead.resume_s;
	}
}

/* Records the suspension with the event's overheads by VM. */
static void record_step(struct engine *engine, const struct backend_event *event)
{
	struct engine_suspension *record = engine_suspension_record(engine, event->task);

	add_overhead(&record->overhead, event);
	record->vms = event->vms;
	record->vms_count = event->vms_count;
	engine_record_suspension(engine, event->task);
	record->vms = NULL;
	record->vms_count = 0;
}

static void handle_suspended(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];
	struct engine_suspension *suspension = engine_suspension_record(engine, event->task);
	const double frozen_s = task->since_s + event->exec_s;

	engine_clear_overrun(engine, event->task);
	engine_window_note_ran(engine, event->task, frozen_s);
	move(engine, event->task, ENGINE_TASK_SUSPEND_DONE, SUSPENSION_SUSPEND_DONE);
	task->reason = event->reason;
	task->executed_s += event->exec_s;
	engine_add_suspension_lead(engine, event->task,
				   frozen_s < engine->setup.lead_s
					   ? event->exec_s
					   : fmax(0, engine->setup.lead_s - task->since_s));
	suspension->suspended_s = event->time_s;
	suspension->exec_s = event->exec_s;
	record_step(engine, event);
	engine_record_step(engine, event->time_s, ENGINE_EVENT_SUSPENDED, event->task,
			   event->reason);
	engine_record_task(engine, event->task);
	task->reason = NULL;
	leave_nodes(engine, event->task);
}

static void handle_resumed(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];
	struct engine_suspension *suspension = engine_suspension_record(engine, event->task);

	move(engine, event->task, ENGINE_TASK_RESUME_DONE, SUSPENSION_RESUME_DONE);
	task->reason = event->reason;
	task->since_s = event->since_s;
	task->expected_end_s = engine_expected_end_s(task, task->since_s);
	task->late = false;
	suspension->resumed_s = event->time_s;
	suspension->since_s = event->since_s;
	engine_move_resumption(engine, event->task, RESUMPTION_SETTLE);
	engine_set_preemptible(engine, event->task);
	*running_list_find(&engine->running, event->task) =
		engine_running(engine, event->task, task->nodes, task->since_s);
	record_step(engine, event);
	engine_record_step(engine, event->time_s, ENGINE_EVENT_RESUMED, event->task, event->reason);
	engine_record_task(engine, event->task);
	task->reason = NULL;
}

/* After a failed suspension: the task keeps its nodes, and the claims to them are cancelled. */
static void roll_back_suspend(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running = engine_running(engine, index, task->nodes, task->since_s);

	task->late = running.end_s <= engine_now_s(engine);
	if (task->late) /* a "late" event was recorded before */
		running.end_s = engine_next_event_s(engine);
	set_departing(engine, engine_suspension_at(engine, index), false);
	if (engine_has_claim(engine, index))
		engine_unclaim(engine, index);
	for (uint32_t i = 0; i < task->nodes_count; i++)
		engine_unclaim_node(engine, task->cluster, task->nodes[i]);
	/* After a restart claims are among the reservations (restore.c), which would wait here. */
	engine_cancel_reservations_on(engine,
				      &(struct sched_allocation){.cluster = task->cluster,
								 .nodes = task->nodes,
								 .nodes_count = task->nodes_count,
								 .end_s = running.end_s},
				      engine_now_s(engine), NULL);
	engine->placement->allocate(engine, index, task->nodes);
	move(engine, index, ENGINE_TASK_SUSPENSION_FAILED, SUSPENSION_FAIL);
	engine->placement->begin_interval(engine, index, 0);
	task->suspensions--;
	task->expected_end_s = running.end_s;
	engine_move_resumption(engine, index, RESUMPTION_SETTLE);
	running_list_insert(&engine->running, &running);
	engine_set_preemptible(engine, index);
}

/*
 * After a failed resumption: the task stays suspended, and the nodes of the resumption are free
 * again.
 */
static void roll_back_resume(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	running_list_remove(&engine->running, index);
	engine->placement->end_interval(engine, index, engine_now_s(engine));
	engine->placement->free(engine, index, task->nodes);
	move(engine, index, ENGINE_TASK_SUSPENSION_FAILED, SUSPENSION_FAIL);
	task->late = false; /* it is on no nodes any more */
	engine_suspension_record(engine, index)->resume_requested_s = NAN;
}

/*
 * After too many failed resumptions: the attempt is lost, and the task starts again or has failed.
 */
static void lose_attempt(struct engine *engine, uint32_t index, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[index];

	backend_kill(engine->backend, index, task->attempts);
	task->ended_s = event->time_s;
	task->exec_s = task->executed_s;
	engine_take_energy(engine, index, task->energy_j);
	engine_move_task(engine, index,
			 engine_after_loss(engine, index, event->time_s, event->reason));
	engine_end_suspension(engine, index);
}

static void handle_suspension_failed(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];

	engine_record_event(engine, event->time_s, ENGINE_EVENT_STAYED, event->task, event->reason);
	if (engine_task_state_in(task->state, ENGINE_TASK_ANY_SUSPENDING)) {
		engine_window_note_ran(engine, event->task, event->time_s);
		roll_back_suspend(engine, event->task);
	} else {
		roll_back_resume(engine, event->task);
		if (engine_suspension_retries_exhausted(engine, event->task))
			lose_attempt(engine, event->task, event);
	}
	engine_record_suspension(engine, event->task);
	task->reason = event->reason;
	engine_record_task(engine, event->task);
	engine_record_end(engine, event->task);
	engine_release_reason(engine, task);
	/*
	 * Nodes are free again, or tasks with claims to them wait again. Tasks that are wanted are
	 * resumed at that event: at once the same step would only fail again.
	 */
	if (engine->setup.open)
		engine_want_mapping(engine);
	engine_retry_late(engine, event->time_s);
}

bool engine_handle_suspension(struct engine *engine, const struct backend_event *event)
{
	static const struct {
		enum engine_task_event event;
		void (*handle)(struct engine *engine, const struct backend_event *event);
	} steps[] = {
		[BACKEND_EVENT_SUSPENDED] = {ENGINE_TASK_SUSPEND_DONE, handle_suspended},
		[BACKEND_EVENT_RESUMED] = {ENGINE_TASK_RESUME_DONE, handle_resumed},
		[BACKEND_EVENT_SUSPENSION_FAILED] = {ENGINE_TASK_SUSPENSION_FAILED,
						     handle_suspension_failed},
	};

	if (!engine_expects(engine, event->task, steps[event->kind].event))
		return false;
	steps[event->kind].handle(engine, event);
	return event->kind == BACKEND_EVENT_SUSPENDED;
}

void engine_end_suspension(struct engine *engine, uint32_t index)
{
	const struct engine_suspension *suspension = engine_suspension_at(engine, index);
	const enum suspension_state state = engine_suspension_state(engine, index);

	if (!suspension)
		return;
	engine_move_suspension(engine, index, SUSPENSION_END);
	engine_move_resumption(engine, index, RESUMPTION_END);
	if (suspension_state_is_claimed(state)) {
		drop_claim(engine, index);
		engine->placement->free(engine, index, suspension->to_nodes);
	}
	if (suspension_state_is_suspending(state))
		leave_nodes(engine, index);
	engine_set_preemptible(engine, index);
}
