/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/state.h"

/*
 * What people ask for: tasks that are suspended until they say otherwise, and go on when they do.
 * The steps are those of the policies' suspensions (suspension.c).
 */

/* The first nodes of its cluster that are idle, if they are enough. */
static bool find_idle(const struct engine *engine, const struct engine_task *task,
		      uint32_t *ret_nodes)
{
	const uint32_t nodes = engine->setup.system->clusters[task->cluster].nodes;
	uint32_t found = 0;

	for (uint32_t node = 0; node < nodes && found < task->nodes_count; node++)
		if (engine->occupants[task->cluster][node] == ENGINE_NO_TASK &&
		    engine->leavers[task->cluster][node] == ENGINE_NO_TASK &&
		    !engine->down[task->cluster][node])
			ret_nodes[found++] = node;
	return found == task->nodes_count;
}

static void resume_if_idle(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	g_autofree uint32_t *nodes = g_new(uint32_t, task->nodes_count);

	if (engine->ended || task->state != ENGINE_TASK_SUSPENDED ||
	    engine->suspensions[index]->claimed || !find_idle(engine, task, nodes))
		return;
	engine_begin_resume(engine, index, nodes);
	engine->disturbed = true; /* the nodes may be promised */
	engine_record_task(engine, index);
	engine_flush(engine);
	if (!engine->ended)
		engine_launch_resume(engine, index);
}

void engine_resume_wanted(struct engine *engine)
{
	if (engine->wanted_count == 0 || engine->ended)
		return;
	engine_list_suspended(engine);

	const uint32_t count = engine->suspended.count;
	g_autofree uint32_t *ids =
		g_memdup2(engine->suspended.ids, count * sizeof(*engine->suspended.ids));

	for (uint32_t i = 0; i < count; i++)
		if (engine->suspensions[ids[i]]->wanted)
			resume_if_idle(engine, ids[i]);
}

/* A task that the policy suspended stays so until a person says otherwise. */
static void hold(struct engine *engine, uint32_t index)
{
	struct suspension *suspension = engine->suspensions[index];

	if (engine->tasks[index].held)
		return;
	engine_set_wanted(engine, index, false);
	if (suspension->claimed)
		engine_unclaim(engine, index);
	engine_get_up(engine, index);
	engine_set_held(engine, index, true);
	if (engine->tasks[index].state == ENGINE_TASK_SUSPENDED)
		engine_lie_down(engine, index);
	engine_record_suspension(engine, index);
	engine_flush(engine);
}

const char *engine_request_suspend(struct engine *engine, uint32_t index)
{
	if (engine->ended)
		return "the run has ended";
	if (engine->hosts)
		return "it shares its hosts, and only the policy says who is on them";
	if (engine->queues)
		return "its machine has a queue, and goes on with the next task only when it has ended";
	if (index >= engine->setup.workload->tasks_count)
		return "there is no such task";
	switch (engine->tasks[index].state) {
	case ENGINE_TASK_RUNNING:
		engine_begin_suspend(engine, index, true);
		engine_record_task(engine, index);
		engine_flush(engine);
		if (!engine->ended)
			engine_launch_suspend(engine, index);
		return NULL;
	case ENGINE_TASK_SUSPENDING:
	case ENGINE_TASK_SUSPENDED:
		hold(engine, index);
		return NULL;
	case ENGINE_TASK_STARTING:
	case ENGINE_TASK_RESUMING:
		return "it is just starting or going on; try again in a moment";
	case ENGINE_TASK_COMING:
	case ENGINE_TASK_WAITING:
	case ENGINE_TASK_PLANNED:
		return "it does not run";
	default:
		return "it has ended";
	}
}

const char *engine_request_resume(struct engine *engine, uint32_t index)
{
	if (engine->ended)
		return "the run has ended";
	if (index >= engine->setup.workload->tasks_count)
		return "there is no such task";
	if (engine->tasks[index].state == ENGINE_TASK_RESUMING)
		return NULL;
	if (engine->tasks[index].state != ENGINE_TASK_SUSPENDING &&
	    engine->tasks[index].state != ENGINE_TASK_SUSPENDED)
		return "it is not suspended";
	if (engine->suspensions[index]->claimed)
		return NULL;
	engine_get_up(engine, index);
	engine_set_held(engine, index, false);
	engine_set_wanted(engine, index, true);
	if (engine->tasks[index].state == ENGINE_TASK_SUSPENDED)
		engine_lie_down(engine, index);
	engine_record_suspension(engine, index);
	engine_flush(engine);
	resume_if_idle(engine, index);
	return NULL;
}
