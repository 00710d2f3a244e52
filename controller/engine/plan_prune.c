/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/mapping.h"
#include "controller/engine/state.h"

/* Suspensions of a plan by what follows from them. */
enum use {
	FOR_ITSELF = 0, /* nobody was to take the nodes */
	FOR_NOBODY,     /* who was to take them does not come */
	FOR_SOMEBODY,
};

struct search {
	const struct engine *engine;
	const struct sched_plan *plan;
	GHashTable *suspends; /* by task: its SUSPEND, as index of the plan's actions, + 1 */
	bool *vain;           /* per action */
	enum use *uses;       /* per action; of SUSPENDs */
};

static bool comes_to_nodes(const struct sched_action *action)
{
	return action->kind == SCHED_ACTION_START || action->kind == SCHED_ACTION_RESUME;
}

/* The SUSPEND of a task as index of the plan's actions, + 1; 0: there is none. */
static uint32_t suspend_of(const struct search *search, uint32_t task)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(search->suspends, GUINT_TO_POINTER(task)));
}

/* The task on node `n` of an action, whose place may be no place; ENGINE_NO_TASK: none. */
static uint32_t occupant_of(const struct search *search, const struct sched_action *action, uint32_t n)
{
	const struct sched_system *system = search->engine->setup.system;

	if (action->cluster >= system->clusters_count ||
	    action->nodes[n] >= system->clusters[action->cluster].nodes)
		return ENGINE_NO_TASK;
	return search->engine->allocated[action->cluster][action->nodes[n]];
}

static bool gives_way(const struct search *search, uint32_t task)
{
	const uint32_t suspend = suspend_of(search, task);

	return suspend > 0 && !search->vain[suspend - 1];
}

/* Whether all who are on its nodes give way, and the task itself where it is to go on elsewhere. */
static bool can_come(const struct search *search, const struct sched_action *action)
{
	if (search->engine->tasks[action->task].state == ENGINE_TASK_RUNNING &&
	    !gives_way(search, action->task))
		return false;
	for (uint32_t n = 0; n < action->nodes_count; n++) {
		const uint32_t occupant = occupant_of(search, action, n);

		if (occupant != ENGINE_NO_TASK && !gives_way(search, occupant))
			return false;
	}
	return true;
}

/* Notes for whom others give way. */
static void note_uses(struct search *search, uint32_t i)
{
	const struct sched_action *action = &search->plan->actions[i];
	const enum use use = search->vain[i] ? FOR_NOBODY : FOR_SOMEBODY;

	for (uint32_t n = 0; n < action->nodes_count; n++) {
		const uint32_t suspend = suspend_of(search, occupant_of(search, action, n));

		if (suspend > 0)
			search->uses[suspend - 1] = MAX(search->uses[suspend - 1], use);
	}
}

/* Finds what is in vain because of what was found before. Returns whether there was any. */
static bool look_again(struct search *search)
{
	const uint32_t count = search->plan->actions_count;
	bool found = false;

	for (uint32_t i = 0; i < count; i++)
		search->uses[i] = FOR_ITSELF;
	for (uint32_t i = 0; i < count; i++) {
		if (!comes_to_nodes(&search->plan->actions[i]))
			continue;
		if (!search->vain[i] && !can_come(search, &search->plan->actions[i]))
			search->vain[i] = found = true;
		note_uses(search, i);
	}
	for (uint32_t i = 0; i < count; i++)
		if (search->uses[i] == FOR_NOBODY && !search->vain[i])
			search->vain[i] = found = true;
	return found;
}

bool *engine_find_stale(const struct engine *engine, const struct sched_plan *plan,
		       const bool *refused)
{
	g_autoptr(GHashTable) suspends = g_hash_table_new(NULL, NULL);
	g_autofree enum use *uses = g_new0(enum use, plan->actions_count);
	struct search search = { engine, plan, suspends, g_new0(bool, plan->actions_count), uses };

	for (uint32_t i = 0; i < plan->actions_count; i++) {
		const struct sched_action *action = &plan->actions[i];
		const bool suspends_it = action->kind == SCHED_ACTION_SUSPEND;

		if (suspends_it)
			g_hash_table_insert(suspends, GUINT_TO_POINTER(action->task),
					    GUINT_TO_POINTER(i + 1));
		if (suspends_it || comes_to_nodes(action))
			search.vain[i] = (refused && refused[i]) ||
					 engine_validate_but_nodes(engine, action) != NULL;
	}
	while (g_hash_table_size(suspends) > 0 && look_again(&search))
		;
	return search.vain;
}
