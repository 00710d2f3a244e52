/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks whether the actions of a plan are legal in the engine's present state: what holds for all
 * placements, and for nodes of a task's own. The functions return NULL, or why an action is not
 * legal.
 */
#include "controller/engine/engine_private.h"
#include "controller/engine/mapping.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/task_fsm.h"

/* The state of a task. */

/* Whether a plan may suspend the task; otherwise why not. */
static const char *check_suspend(const struct engine *engine, uint32_t index)
{
	if (engine->tasks[index].state != ENGINE_TASK_RUNNING)
		return "it does not run";
	return engine->known[index].preemptible ? NULL : "it is not preemptible";
}

const char *engine_validate_mappable(const struct engine *engine, uint32_t index)
{
	if (engine->tasks[index].state != ENGINE_TASK_WAITING)
		return "it is not waiting";
	return engine->tasks[index].request == REQUEST_HELD ? "a user holds it" : NULL;
}

const char *engine_validate_suspended(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	if (!engine_task_state_in(task->state,
				  ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED))
		return "it is not suspended";
	if (engine_is_held(engine, index))
		return "a user suspended it";
	return engine_has_claim(engine, index) ? "it is being resumed already" : NULL;
}

const char *engine_validate_drop(const struct engine *engine, uint32_t index)
{
	switch (engine->tasks[index].state) {
	case ENGINE_TASK_WAITING:
		return engine_validate_mappable(engine, index);
	case ENGINE_TASK_QUEUED:
		return NULL;
	case ENGINE_TASK_SUSPENDED:
	case ENGINE_TASK_SUSPENDED_CLAIMED:
		return engine_validate_suspended(engine, index);
	default:
		return "it is neither waiting nor suspended";
	}
}

/* Nodes of a task's own. */

/*
 * Checks the nodes of an action: they exist and are up, as many as the option takes; `now`: free as
 * well.
 */
static const char *check_place(const struct engine *engine, const struct sched_action *action,
			       bool now)
{
	const struct sched_system *system = engine->setup.system;
	const uint32_t row = engine->known[action->task].row;
	const struct sched_option *option;
	const struct engine_node *nodes;

	if (action->cluster >= system->clusters_count ||
	    action->pstate >= system->clusters[action->cluster].pstates)
		return "there is no such cluster or P-state";
	option = sched_system_option(system, row, action->cluster, action->pstate);
	if (!option)
		return "it cannot run there";
	if (option->nodes != action->nodes_count)
		return "it needs another number of nodes";
	nodes = engine_nodes_of(engine, action->cluster);
	for (uint32_t i = 0; i < action->nodes_count; i++) {
		const uint32_t node = action->nodes[i];

		if (node >= system->clusters[action->cluster].nodes ||
		    (i > 0 && node <= action->nodes[i - 1]))
			return "its nodes are not nodes of the cluster in ascending order";
		/*
		 * This holds for reservations as well: a reservation of a node is cancelled only
		 * when the node goes down.
		 */
		if (nodes[node].state != NODE_UP || (now && nodes[node].task != ENGINE_NO_TASK))
			return "its nodes are not free";
	}
	return NULL;
}

static const char *check_return(const struct engine *engine, const struct sched_action *action,
				bool now)
{
	const struct engine_task *task = &engine->tasks[action->task];

	if (action->cluster != task->cluster)
		return "it can only resume in its own cluster";
	if (action->pstate != task->pstate)
		return "it can only resume at its own P-state";
	return check_place(engine, action, now);
}

static const char *check_resume(const struct engine *engine, const struct sched_action *action)
{
	const char *problem = engine_validate_suspended(engine, action->task);

	return problem ? problem : check_return(engine, action, true);
}

const char *engine_validate_but_nodes(const struct engine *engine,
				      const struct sched_action *action)
{
	const char *problem;

	if (action->task >= engine->arrivals_next)
		return "there is no such task";
	if (action->kind == SCHED_ACTION_SUSPEND)
		return check_suspend(engine, action->task);
	if (action->kind == SCHED_ACTION_START)
		problem = engine_validate_mappable(engine, action->task);
	else if (engine->tasks[action->task].state == ENGINE_TASK_RUNNING)
		problem = check_suspend(engine, action->task);
	else
		problem = engine_validate_suspended(engine, action->task);
	if (problem)
		return problem;
	return action->kind == SCHED_ACTION_START ? check_place(engine, action, false)
						  : check_return(engine, action, false);
}

const char *engine_validate_on_own_nodes(const struct engine *engine,
					 const struct sched_action *action)
{
	const char *problem;

	switch (action->kind) {
	case SCHED_ACTION_START:
	case SCHED_ACTION_PLACEHOLDER:
	case SCHED_ACTION_RESERVE:
		problem = engine_validate_mappable(engine, action->task);
		return problem ? problem
			       : check_place(engine, action, action->kind == SCHED_ACTION_START);
	case SCHED_ACTION_SUSPEND:
		return check_suspend(engine, action->task);
	case SCHED_ACTION_RESUME:
		return check_resume(engine, action);
	case SCHED_ACTION_DROP:
		return engine_validate_drop(engine, action->task);
	case SCHED_ACTION_ENQUEUE:
		problem = engine_validate_mappable(engine, action->task);
		return problem ? problem : "the clusters have no queues";
	case SCHED_ACTION_PLACE:
		problem = engine_validate_mappable(engine, action->task);
		return problem ? problem : "its nodes are not shared";
	case SCHED_ACTION_SHARE:
	case SCHED_ACTION_MIGRATE:
	case SCHED_ACTION_PAUSE:
	case SCHED_ACTION_DEFER:
		return "its nodes are not shared";
	case SCHED_ACTION_NONE:
		break;
	}
	return "there is no such action";
}

/* All actions. */

const char *engine_validate_action(const struct engine *engine, const struct sched_action *action)
{
	return action->task < engine->arrivals_next
		       ? engine->placement->check_action(engine, action)
		       : "there is no such task";
}
