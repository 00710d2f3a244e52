/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/engine_private.h"
#include "controller/engine/mapping.h"
#include "controller/engine/nodes.h"

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

static bool takes_nodes(const struct sched_action *action)
{
	return action->kind == SCHED_ACTION_START || action->kind == SCHED_ACTION_RESUME;
}

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
		if (!takes_nodes(&search->plan->actions[i]))
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
		if (suspends_task || takes_nodes(action))
			search.stale[i] = (refused && refused[i]) ||
					  engine_validate_but_nodes(engine, action) != NULL;
	}
	while (g_hash_table_size(suspends) > 0 && find_more(&search))
		;
	return search.stale;
}
