/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks whether the actions of a plan are legal in the engine's present state. The functions
 * return NULL, or why an action is not legal.
 */
#include "controller/engine/mapping.h"
#include "controller/engine/queues.h"
#include "controller/engine/state.h"

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
	return engine->tasks[index].held ? "a user holds it" : NULL;
}

const char *engine_validate_suspended(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	if (!engine_task_state_in(task->state,
				  ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED))
		return "it is not suspended";
	if (task->held)
		return "a user suspended it";
	return engine_has_claim(engine, index) ? "it is being resumed already" : NULL;
}

/* A waiting or suspended task can be dropped; in a system with queues also an executing one. */
static const char *check_drop(const struct engine *engine, uint32_t index)
{
	switch (engine->tasks[index].state) {
	case ENGINE_TASK_WAITING:
		return engine_validate_mappable(engine, index);
	case ENGINE_TASK_QUEUED:
		return NULL;
	case ENGINE_TASK_STARTING:
	case ENGINE_TASK_RUNNING:
		return engine_has_queues(engine) ? NULL : "it is neither waiting nor suspended";
	case ENGINE_TASK_SUSPENDED:
	case ENGINE_TASK_SUSPENDED_CLAIMED:
		return engine_validate_suspended(engine, index);
	default:
		return "it is neither waiting nor suspended";
	}
}

/* Nodes that tasks do not share. */

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

	if (action->cluster >= system->clusters_count ||
	    action->pstate >= system->clusters[action->cluster].pstates)
		return "there is no such cluster or P-state";
	option = sched_system_option(system, row, action->cluster, action->pstate);
	if (!option)
		return "it cannot run there";
	if (option->nodes != action->nodes_count)
		return "it needs another number of nodes";
	for (uint32_t i = 0; i < action->nodes_count; i++) {
		const uint32_t node = action->nodes[i];

		if (node >= system->clusters[action->cluster].nodes ||
		    (i > 0 && node <= action->nodes[i - 1]))
			return "its nodes are not nodes of the cluster in ascending order";
		/*
		 * This holds for reservations as well: a reservation of a node is cancelled only
		 * when the node goes down.
		 */
		if (engine->down[action->cluster][node] ||
		    (now && engine->allocated[action->cluster][node] != ENGINE_NO_TASK))
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

/* Shared hosts. */

/* Checks the hosts for all VMs of a task. engine_validate_shares() checks their memory later. */
static const char *check_hosts(const struct engine *engine, const struct sched_action *action)
{
	if (!engine->shared_nodes)
		return "its nodes are not shared";
	if (!(action->yield > 0 && action->yield <= 1))
		return "its yield is not above 0 and at most 1";
	if (action->cluster != 0 || action->nodes_count != engine->known[action->task].demand.vms)
		return "it needs another number of hosts";
	/* A SHARE of a task on a host that is down is legal until the task is lost. */
	for (uint32_t v = 0; v < action->nodes_count; v++)
		if (action->nodes[v] >= engine->setup.system->clusters[0].nodes ||
		    (action->kind != SCHED_ACTION_SHARE && engine->down[0][action->nodes[v]]))
			return "there is no such host, or it is down";
	return NULL;
}

/* Checks that a task on shared hosts runs; with `busy` it may still be starting or resuming. */
static const char *check_sharing(const struct engine *engine, uint32_t index, bool busy)
{
	if (!engine->shared_nodes)
		return "its nodes are not shared";
	if (engine->tasks[index].state == ENGINE_TASK_RUNNING ||
	    (busy && running_list_find(&engine->running, index)))
		return NULL;
	return "it does not run";
}

/* Checks an action on shared hosts. */
static const char *check_share(const struct engine *engine, const struct sched_action *action)
{
	const char *problem;

	switch (action->kind) {
	case SCHED_ACTION_PLACE:
		problem = engine_validate_mappable(engine, action->task);
		return problem ? problem : check_hosts(engine, action);
	case SCHED_ACTION_SHARE:
	case SCHED_ACTION_MIGRATE:
		problem = check_sharing(engine, action->task, action->kind == SCHED_ACTION_SHARE);
		return problem ? problem : check_hosts(engine, action);
	case SCHED_ACTION_RESUME:
		problem = engine_validate_suspended(engine, action->task);
		return problem ? problem : check_hosts(engine, action);
	case SCHED_ACTION_PAUSE:
		return check_sharing(engine, action->task, false);
	case SCHED_ACTION_DEFER:
		return engine->shared_nodes ? engine_validate_mappable(engine, action->task)
					    : "its nodes are not shared";
	default:
		return "it gives nodes to one task at a time";
	}
}

/* All actions. */

const char *engine_validate_action(const struct engine *engine, const struct sched_action *action)
{
	const char *problem = NULL;

	if (action->task >= engine->arrivals_next)
		return "there is no such task";
	if (engine->shared_nodes && action->kind != SCHED_ACTION_DROP)
		return check_share(engine, action);
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
		return check_drop(engine, action->task);
	case SCHED_ACTION_ENQUEUE:
		problem = engine_validate_mappable(engine, action->task);
		return problem ? problem : engine_check_enqueue(engine, action);
	case SCHED_ACTION_PLACE:
	case SCHED_ACTION_SHARE:
	case SCHED_ACTION_MIGRATE:
	case SCHED_ACTION_PAUSE:
	case SCHED_ACTION_DEFER:
		return check_share(engine, action);
	case SCHED_ACTION_NONE:
		break;
	}
	return "there is no such action";
}
