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
#include "controller/engine/task_fsm.h"
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

/* What has become stale. */

/* What the nodes of a SUSPEND are for. */
enum suspend_use {
	SUSPEND_ALONE = 0, /* no action of the plan takes the nodes */
	SUSPEND_FOR_STALE, /* the actions that take the nodes are stale */
	SUSPEND_FOR_OTHERS,
};

struct search {
	const struct engine *engine;
	const struct sched_plan *plan;
	GHashTable *suspends;   /* from a task to the index of its SUSPEND in the plan, + 1 */
	bool *stale;            /* per action: it is stale */
	enum suspend_use *uses; /* per action; valid for SUSPENDs */
};

/* The index of a task's SUSPEND in the plan, + 1; 0: there is none. */
static uint32_t suspend_of(const struct search *search, uint32_t task)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(search->suspends, GUINT_TO_POINTER(task)));
}

/* The task on node `n` of an action, whose nodes may be invalid; ENGINE_NO_TASK: none. */
static uint32_t task_on_node(const struct search *search, const struct sched_action *action,
			     uint32_t n)
{
	const struct sched_system *system = search->engine->setup.system;

	if (action->cluster >= system->clusters_count ||
	    action->nodes[n] >= system->clusters[action->cluster].nodes)
		return ENGINE_NO_TASK;
	return engine_node_task(search->engine, action->cluster, action->nodes[n]);
}

static bool is_suspended(const struct search *search, uint32_t task)
{
	const uint32_t suspend = suspend_of(search, task);

	return suspend > 0 && !search->stale[suspend - 1];
}

/*
 * Whether all tasks on the action's nodes are suspended by the plan, and so is the task itself if
 * it runs and is to be resumed elsewhere.
 */
static bool can_start(const struct search *search, const struct sched_action *action)
{
	if (search->engine->tasks[action->task].state == ENGINE_TASK_RUNNING &&
	    !is_suspended(search, action->task))
		return false;
	for (uint32_t n = 0; n < action->nodes_count; n++) {
		const uint32_t occupant = task_on_node(search, action, n);

		if (occupant != ENGINE_NO_TASK && !is_suspended(search, occupant))
			return false;
	}
	return true;
}

/* Notes which SUSPENDs make room for an action. */
static void note_uses(struct search *search, uint32_t i)
{
	const struct sched_action *action = &search->plan->actions[i];
	const enum suspend_use use = search->stale[i] ? SUSPEND_FOR_STALE : SUSPEND_FOR_OTHERS;

	for (uint32_t n = 0; n < action->nodes_count; n++) {
		const uint32_t suspend = suspend_of(search, task_on_node(search, action, n));

		if (suspend > 0)
			search->uses[suspend - 1] = MAX(search->uses[suspend - 1], use);
	}
}

/* Finds actions that are stale because of those found before. Returns whether it found any. */
static bool find_more(struct search *search)
{
	const uint32_t count = search->plan->actions_count;
	bool found = false;

	for (uint32_t i = 0; i < count; i++)
		search->uses[i] = SUSPEND_ALONE;
	for (uint32_t i = 0; i < count; i++) {
		if (!starts_now(&search->plan->actions[i]))
			continue;
		if (!search->stale[i] && !can_start(search, &search->plan->actions[i]))
			search->stale[i] = found = true;
		note_uses(search, i);
	}
	for (uint32_t i = 0; i < count; i++)
		if (search->uses[i] == SUSPEND_FOR_STALE && !search->stale[i])
			search->stale[i] = found = true;
	return found;
}

bool *engine_find_stale(const struct engine *engine, const struct sched_plan *plan,
			const bool *refused)
{
	g_autoptr(GHashTable) suspends = g_hash_table_new(NULL, NULL);
	g_autofree enum suspend_use *uses = g_new0(enum suspend_use, plan->actions_count);
	struct search search = {engine, plan, suspends, g_new0(bool, plan->actions_count), uses};

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const bool suspends_task = action->kind == SCHED_ACTION_SUSPEND;

		if (suspends_task)
			g_hash_table_insert(suspends, GUINT_TO_POINTER(action->task),
					    GUINT_TO_POINTER(i + 1));
		if (suspends_task || starts_now(action))
			search.stale[i] = (refused && refused[i]) ||
					  engine_validate_but_nodes(engine, action) != NULL;
	}
	while (g_hash_table_size(suspends) > 0 && find_more(&search))
		;
	return search.stale;
}

/* What breaks a rule. */

/*
 * Checks whether the actions of a plan are legal in the engine's present state: what holds for all
 * placements, and for nodes of a task's own. The functions return NULL, or why an action is not
 * legal.
 */

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
