/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/lifecycle.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/places.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/users.h"

/* The state of a task. */

bool engine_expects(struct engine *engine, uint32_t index, enum engine_task_event event)
{
	const enum engine_task_state state = engine->tasks[index].state;
	const enum fsm_rule rule = engine_task_transition(state, event)->rule;

	if (rule == FSM_IMPOSSIBLE) {
		engine_count_impossible(engine);
		g_critical("task %u is %s: '%s' is impossible", index,
			   engine_task_state_name(state), engine_task_event_name(event));
	}
	return rule == FSM_MOVES;
}

void engine_move_task(struct engine *engine, uint32_t index, enum engine_task_event event)
{
	/* One look at the table for a move, which nearly every event is. */
	if (!engine_task_move(&engine->tasks[index].state, event))
		engine_expects(engine, index, event);
}

/* Waiting. */

void engine_arrive(struct engine *engine, double time_s)
{
	const struct workload *workload = engine->setup.workload;

	engine_users_submit(engine, time_s);
	for (; engine->arrivals_next < workload->tasks_count &&
	       workload->tasks[engine->arrivals_next].arrival_s <= time_s;
	     engine->arrivals_next++) {
		struct engine_task *task = &engine->tasks[engine->arrivals_next];

		if (task->state != ENGINE_TASK_COMING)
			continue; /* restored */
		engine_move_task(engine, engine->arrivals_next, ENGINE_TASK_ARRIVE);
		task->waits_since_s = task->task->arrival_s;
		task->reason = NULL;
		engine_count_arrived(engine);
		if (task->request == REQUEST_HELD)
			engine_park(engine);
		else
			engine_enqueue_waiting(engine, engine->arrivals_next);
		engine_record_task(engine, engine->arrivals_next);
	}
}

/* Placements. */

void engine_set_place(struct engine *engine, uint32_t index, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count)
{
	struct engine_task *task = &engine->tasks[index];

	task->cluster = cluster;
	task->pstate = pstate;
	engine_set_nodes(engine, index, nodes, nodes_count);
	engine->placement->estimate(engine, index);
}

/* Running. */

double engine_expected_end_s(const struct engine_task *task, double start_s)
{
	return start_s + fmax(0, task->etc_s - task->executed_s);
}

struct sched_allocation engine_running(const struct engine *engine, uint32_t index,
				       const uint32_t *nodes, double start_s)
{
	const struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running = engine_task_allocation(task);

	running.nodes = nodes;
	running.start_s = start_s;
	running.executed_s = task->executed_s;
	running.end_s = engine_expected_end_s(task, start_s);
	return running;
}

void engine_set_preemptible(struct engine *engine, uint32_t index)
{
	const enum engine_task_state state = engine->tasks[index].state;

	engine_note_change(engine);
	engine->known[index].preemptible = engine->setup.workload->tasks[index].preemptible &&
					   !engine_has_claim(engine, index) &&
					   !engine_task_state_in(state, ENGINE_TASK_IN_STEP) &&
					   engine->tasks[index].request != REQUEST_CANCELLED &&
					   !engine_suspension_retries_exhausted(engine, index);
}

/* Ends the waiting time of a task. */
static void end_waiting(struct engine_task *task)
{
	task->waited_s += fmax(0, task->started_s - task->waits_since_s);
	task->waits_since_s = NAN;
}

/* An attempt begins now. */
static void begin_attempt(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	engine_move_task(engine, index, ENGINE_TASK_START);
	task->reservation = false;
	task->attempts++;
	task->suspensions = 0;
	task->migrations = 0;
	task->executed_s = 0;
	task->started_s = task->since_s = backend_now_s(engine->backend);
	end_waiting(task);
	task->expected_end_s = engine_expected_end_s(task, task->since_s);
	task->late = false;
	task->ended_s = task->exec_s = task->energy_j = NAN;
	task->energy_kind = ENGINE_ENERGY_ESTIMATED;
	task->virtual_s = 0;
	engine->placement->begin_interval(engine, index, 0);
	engine_set_preemptible(engine, index);
	engine_touch(engine, index);
}

void engine_begin_queued(struct engine *engine, uint32_t index, double time_s)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running;

	engine_move_task(engine, index, ENGINE_TASK_START);
	task->suspensions = 0;
	task->executed_s = 0;
	task->started_s = task->since_s = time_s;
	end_waiting(task);
	task->expected_end_s = engine_expected_end_s(task, time_s);
	task->late = false;
	task->ended_s = task->exec_s = task->energy_j = NAN;
	task->energy_kind = ENGINE_ENERGY_ESTIMATED;
	engine->placement->allocate(engine, index, task->nodes);
	engine_set_preemptible(engine, index);
	running = engine_running(engine, index, task->nodes, time_s);
	running_list_insert(&engine->running, &running);
}

/* Gives a task a claim to its nodes, which other tasks still have to leave. */
static void begin_claim(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	engine_move_task(engine, index, ENGINE_TASK_CLAIM);
	task->reservation = true;
	task->executed_s = 0;
	task->expected_end_s = engine_expected_end_s(task, backend_now_s(engine->backend));
	engine_set_preemptible(engine, index);
	engine_touch(engine, index);
}

void engine_begin(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_allocation running;

	task->slid = 0;
	engine_dequeue_waiting(engine, index);
	engine->placement->allocate(engine, index, task->nodes);
	engine_set_claim_waits(engine, index,
			       engine->placement->count_waits(engine, index, task->nodes));
	if (engine_claim_waits(engine, index) > 0)
		begin_claim(engine, index);
	else
		begin_attempt(engine, index);
	running = engine_running(engine, index, task->nodes, backend_now_s(engine->backend));
	running_list_add(&engine->running, &running);
}

void engine_begin_claimed(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	begin_attempt(engine, index);
	*running_list_find(&engine->running, index) =
		engine_running(engine, index, task->nodes, task->since_s);
}

void engine_launch(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const struct sched_allocation placed = engine_task_allocation(task);

	backend_start(engine->backend, &placed, task->attempts);
	engine->placement->send_share(engine, index);
}

void engine_cancel_planned(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (task->reservation)
		engine_enqueue_waiting(engine, index);
	engine_move_task(engine, index, ENGINE_TASK_UNPLAN);
	task->reservation = false;
	engine_touch(engine, index);
}

enum engine_task_event engine_after_loss(struct engine *engine, uint32_t index, double time_s,
					 const char *reason)
{
	struct engine_task *task = &engine->tasks[index];

	engine_record_event(engine, time_s, ENGINE_EVENT_LOST, index, reason);
	if (task->request == REQUEST_CANCELLED) {
		engine_count_failed(engine);
		return ENGINE_TASK_KILL;
	}
	if (task->attempts - task->attempts_before >= ENGINE_ATTEMPTS_MAX) {
		engine_count_failed(engine);
		return ENGINE_TASK_FAIL;
	}
	if (isnan(task->waits_since_s)) {
		engine_record_lost(engine, index, time_s, reason);
		task->waits_since_s = time_s;
	}
	engine_enqueue_waiting(engine, index);
	return ENGINE_TASK_LOSE;
}

/* What tasks have used. */

const char *const engine_energy_names[] = {"estimated", "provisional", "final", NULL};

void engine_take_energy(struct engine *engine, uint32_t index, double event_j)
{
	const struct engine_setup *setup = &engine->setup;
	struct engine_task *task = &engine->tasks[index];
	enum engine_energy_kind kind = ENGINE_ENERGY_PROVISIONAL;
	const double account_j = setup->task_ended_j
					 ? setup->task_ended_j(index, &kind, setup->task_ended_data)
					 : (double)NAN;

	if (setup->task_ended_j && setup->recorder && setup->recorder->answer)
		setup->recorder->answer(setup->recorder, account_j);
	task->energy_kind = isfinite(account_j) ? kind : ENGINE_ENERGY_ESTIMATED;
	task->energy_j = isfinite(account_j) ? account_j : event_j;
}

/*
 * What ENGINE_INPUT_ENERGY says. A full state has no task whose energy was final: of such a task the
 * change of what completed tasks have used is said as well.
 */
static json_t *describe_energy(const struct engine_task *task, double energy_j,
			       enum engine_energy_kind kind)
{
	struct engine_task after = *task;
	json_t *detail = json_pack("{s:I, s:o, s:i}", "task", (json_int_t)task->task->id,
				   "energy_j", json_number_or_null(energy_j), "kind", (int)kind);

	after.energy_j = energy_j;
	after.energy_kind = kind;
	if (task->energy_kind == ENGINE_ENERGY_FINAL && task->nodes_count > 0)
		json_object_set_new(detail, "change_j",
				    json_real(engine_counted_j(&after) - engine_counted_j(task)));
	return detail;
}

void engine_set_energy(struct engine *engine, uint32_t index, double energy_j,
		       enum engine_energy_kind kind)
{
	struct engine_task *task = &engine->tasks[index];
	const double before_j = engine_counted_j(task);
	const bool same = task->energy_j == energy_j;
	struct engine_recorder *recorder = engine->setup.recorder;

	/* Policies see the energy of completed tasks alone. */
	g_auto(engine_noting) noting = {NULL};

	if (task->state == ENGINE_TASK_COMPLETED && (!same || task->energy_kind != kind) &&
	    engine_notes(engine))
		noting = engine_note(engine, ENGINE_INPUT_ENERGY,
				     describe_energy(task, energy_j, kind));
	task->energy_j = energy_j;
	task->energy_kind = kind;
	/* A task whose place is not configured any more is not counted, and its record stays. */
	if (task->nodes_count == 0)
		return;
	if (task->state == ENGINE_TASK_COMPLETED)
		engine_correct_completed_j(engine, engine_counted_j(task) - before_j);
	if (same)
		return;
	engine_untouch(engine, index);
	if (recorder && recorder->task && !recorder->task(recorder, task))
		engine_abort(engine, "the energy of task %u could not be recorded", index);
}
