/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/reservations.h"
#include "controller/engine/suspension.h"
#include "controller/engine/task_energy.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"

/* Actions. */

static void drop_task(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	const enum engine_task_state state = task->state;

	engine_dequeue_waiting(engine, index);
	engine_move_task(engine, index, ENGINE_TASK_DROP);
	task->ended_s = backend_now_s(engine->backend);
	engine_count_dropped(engine);
	if (task->attempts > 0)
		engine_take_energy(engine, index, task->energy_j);
	engine_record_end(engine, index);
	engine->placement->task_ended(engine, index, state);
	if (state != ENGINE_TASK_SUSPENDED)
		return;
	task->exec_s = task->executed_s;
	engine_end_suspension(engine, index);
}

/*
 * Notes a planned start: a task with a place-holder stays mappable, one with a reservation does
 * not.
 */
static void plan_start(struct engine *engine, const struct sched_action *action)
{
	struct engine_task *task = &engine->tasks[action->task];

	engine_move_task(engine, action->task, ENGINE_TASK_PLAN);
	task->reservation = action->kind == SCHED_ACTION_RESERVE;
	if (task->reservation) {
		engine_dequeue_waiting(engine, action->task);
		task->promised_s = fmin(task->promised_s, action->start_s);
	}
	engine_insert_planned(engine, action->task, action->start_s, action->end_s);
}

void engine_prepare_action(struct engine *engine, const struct sched_action *action)
{
	switch (action->kind) {
	case SCHED_ACTION_DROP:
		drop_task(engine, action->task);
		break;
	case SCHED_ACTION_SUSPEND:
		engine_begin_suspend(engine, action->task, false);
		break;
	case SCHED_ACTION_RESUME:
		engine_begin_resume(engine, action->task, action->nodes);
		break;
	case SCHED_ACTION_START:
	case SCHED_ACTION_PLACEHOLDER:
	case SCHED_ACTION_RESERVE:
		engine_set_place(engine, action->task, action->cluster, action->pstate,
				 action->nodes, action->nodes_count);
		engine->tasks[action->task].planned_start_s = action->start_s;
		if (action->kind == SCHED_ACTION_START) {
			engine_settle_reservation(engine, action->task, action->start_s);
			engine_begin(engine, action->task);
		} else {
			plan_start(engine, action);
		}
		break;
	default:
		break;
	}
}

void engine_launch_action(struct engine *engine, const struct sched_action *action)
{
	const struct engine_task *task = &engine->tasks[action->task];

	if (action->kind == SCHED_ACTION_SUSPEND)
		engine_launch_suspend(engine, action->task);
	else if (action->kind == SCHED_ACTION_START && task->state == ENGINE_TASK_STARTING)
		engine_launch(engine, action->task);
	else if (action->kind == SCHED_ACTION_RESUME && task->state == ENGINE_TASK_RESUMING)
		engine_launch_resume(engine, action->task);
	else if (action->kind == SCHED_ACTION_DROP && task->attempts > 0)
		backend_kill(engine->backend, action->task, task->attempts);
}

/* Actions that the energy left in a window does not allow for (window.c). */

/*
 * The option of the task of a START or RESUME; NULL: the action is not legal, which
 * engine_validate_action() reports.
 */
static const struct sched_option *option_of(const struct engine *engine,
					    const struct sched_action *action)
{
	const struct sched_system *system = engine->setup.system;
	const char *problem;

	if (action->task >= engine->arrivals_next || action->cluster >= system->clusters_count ||
	    action->pstate >= system->clusters[action->cluster].pstates)
		return NULL;
	problem = action->kind == SCHED_ACTION_START
			  ? engine_validate_mappable(engine, action->task)
			  : engine_validate_suspended(engine, action->task);
	if (problem)
		return NULL;
	return sched_system_option(system, engine->known[action->task].row, action->cluster,
				   action->pstate);
}

static bool takes_nodes(const struct sched_action *action, const struct engine_task *task)
{
	return action->cluster == task->cluster &&
	       engine_nodes_meet(action->nodes, action->nodes_count, task->nodes,
				 task->nodes_count);
}

static bool starts_now(const struct sched_action *action)
{
	return action->kind == SCHED_ACTION_START || action->kind == SCHED_ACTION_RESUME;
}

/* Whether an action is a SUSPEND that only makes room for refused actions. */
static bool is_stale(const struct engine *engine, const struct sched_plan *plan, uint32_t i,
		     const bool *refused)
{
	const uint32_t task = plan->actions[i].task;
	bool stale = false;

	if (plan->actions[i].kind != SCHED_ACTION_SUSPEND || task >= engine->arrivals_next)
		return false;
	for (uint32_t k = 0; k < plan->actions_count; k++) {
		if (!starts_now(&plan->actions[k]) ||
		    !takes_nodes(&plan->actions[k], &engine->tasks[task]))
			continue;
		if (!refused[k])
			return false;
		stale = true;
	}
	return stale;
}

/*
 * Finds the actions that are left out, per action (the caller frees). The energy that suspended
 * tasks would still have used is not given to others: they are to resume. NULL: there is no limit
 * per window.
 */
static bool *refused_of(struct engine *engine, const struct sched_plan *plan)
{
	bool *refused = engine_window_is_set(engine) ? g_new0(bool, plan->actions_count) : NULL;
	double left_j = refused ? engine_window_left_j(engine) : 0;

	for (uint32_t i = 0; refused && i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const struct sched_option *option =
			starts_now(action) ? option_of(engine, action) : NULL;

		if (option)
			refused[i] =
				engine_window_refuses_of(engine, action->task, option, &left_j);
	}
	for (uint32_t i = 0; refused && i < plan->actions_count; i++)
		refused[i] = refused[i] || is_stale(engine, plan, i, refused);
	return refused;
}

/* Whether any action is refused: then others may be illegal without the policy's fault. */
static bool refuses_any(const struct sched_plan *plan, const bool *refused)
{
	for (uint32_t i = 0; refused && i < plan->actions_count; i++)
		if (refused[i])
			return true;
	return false;
}

/* Plans. */

/*
 * Prepares an action. Returns whether it was done. `changed`: the engine's state has changed since
 * the policy was asked, so that an illegal action is skipped; `stale`: so is a SUSPEND whose
 * successor does not start.
 */
static bool apply_action(struct engine *engine, const struct sched_action *action, bool changed,
			 bool stale)
{
	const char *problem = engine_validate_action(engine, action);

	if (!problem && stale && action->kind == SCHED_ACTION_SUSPEND)
		problem = "the task that it makes room for is not started any more";
	if (problem && changed) {
		engine_record_event(engine, backend_now_s(engine->backend), ENGINE_EVENT_OVERTAKEN,
				    action->task, problem);
		engine_want_mapping(engine);
		return false;
	}
	if (problem) {
		engine_abort(engine, "the plan of policy \"%s\" is not legal: %s task %u: %s",
			     engine->setup.policy.name, sched_action_kind_name(action->kind),
			     action->task, problem);
		return false;
	}
	engine->tasks[action->task].reason = sched_reason_text(action->reason);
	engine->placement->prepare_action(engine, action);
	engine_touch(engine, action->task);
	return true;
}

void engine_apply_plan(struct engine *engine, const struct sched_plan *plan, bool is_further)
{
	g_autofree bool *refused = refused_of(engine, plan);
	/*
	 * If nothing has changed, an illegal action is the policy's fault, which would ask for it
	 * for ever.
	 */
	const bool changed = engine_decides_apart(engine) &&
			     (engine_plan_is_old(engine) || refuses_any(plan, refused));
	g_autofree bool *applied = g_new0(bool, plan->actions_count);
	g_autofree bool *stale = NULL;
	const char *problem;

	if (!is_further)
		engine_cancel_placeholders(engine);
	if (changed)
		stale = engine_find_stale(engine, plan, refused);
	for (uint32_t i = 0; i < plan->actions_count && !engine->ended; i++)
		applied[i] = !(refused && refused[i]) &&
			     apply_action(engine, &plan->actions[i], changed, stale && stale[i]);
	problem = engine->ended ? NULL : engine->placement->check_plan(engine);
	if (problem)
		engine_abort(engine, "the plan of policy \"%s\" is not legal: %s",
			     engine->setup.policy.name, problem);
	engine_record_changed(engine);
	engine_flush(engine);
	for (uint32_t i = 0; i < plan->actions_count && !engine->ended; i++)
		if (applied[i])
			engine->placement->launch_action(engine, &plan->actions[i]);
	engine->placement->start_next(engine);
	if (!changed)
		engine_renew_plan(engine);
}
