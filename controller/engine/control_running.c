/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <jansson.h>
#include <string.h>

#include "common/json.h"
#include "controller/engine/control_running.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/migration.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/reservations.h"
#include "controller/engine/resumption_fsm.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/window.h"

/*
 * Requests of users about running tasks: suspend (until the user resumes the task), resume,
 * migrate. The steps are those of the policies' suspensions (suspension.c).
 */

/* A row of refusals[]: the answer to each request, NONE where it is allowed. */
#define ROW(cancel, hold, release, suspend, migrate)                                               \
	{                                                                                          \
		[ENGINE_REQUEST_CANCEL] = 1 + ENGINE_REFUSAL_##cancel,                             \
		[ENGINE_REQUEST_HOLD] = 1 + ENGINE_REFUSAL_##hold,                                 \
		[ENGINE_REQUEST_RELEASE] = 1 + ENGINE_REFUSAL_##release,                           \
		[ENGINE_REQUEST_SUSPEND] = 1 + ENGINE_REFUSAL_##suspend,                           \
		[ENGINE_REQUEST_MIGRATE] = 1 + ENGINE_REFUSAL_##migrate,                           \
	}
_Static_assert(ENGINE_REQUESTS == 5, "ROW() has an argument for each request");

/*
 * One more than the answer to a request about a task in a state that is not over: 0 is a row that
 * is missing.
 */
static const unsigned int refusals[ENGINE_TASK_STATES][ENGINE_REQUESTS] = {
	[ENGINE_TASK_COMING] = ROW(COMING, COMING, COMING, NOT_RUNNING, WAITING),
	[ENGINE_TASK_WAITING] = ROW(NONE, NONE, NONE, NOT_RUNNING, WAITING),
	[ENGINE_TASK_PLANNED] = ROW(NONE, NONE, NONE, NOT_RUNNING, WAITING),
	[ENGINE_TASK_CLAIMED] = ROW(NONE, NONE, NONE, NOT_RUNNING, WAITING),
	[ENGINE_TASK_QUEUED] = ROW(NONE, QUEUED, NONE, NOT_RUNNING, WAITING),
	[ENGINE_TASK_STARTING] = ROW(NONE, UNDER_WAY, NOT_HELD_NOR_WAITING, STARTING, STARTING),
	[ENGINE_TASK_RUNNING] = ROW(NONE, UNDER_WAY, NOT_HELD_NOR_WAITING, NONE, NONE),
	[ENGINE_TASK_SUSPENDING] = ROW(NONE, UNDER_WAY, SUSPENDED_RELEASE, NONE, SUSPENDED),
	[ENGINE_TASK_SUSPENDING_CLAIMED] = ROW(NONE, UNDER_WAY, SUSPENDED_RELEASE, NONE, SUSPENDED),
	[ENGINE_TASK_SUSPENDED] = ROW(NONE, SUSPENDED_HOLD, SUSPENDED_RELEASE, NONE, SUSPENDED),
	[ENGINE_TASK_SUSPENDED_CLAIMED] =
		ROW(NONE, SUSPENDED_HOLD, SUSPENDED_RELEASE, NONE, SUSPENDED),
	[ENGINE_TASK_RESUMING] = ROW(NONE, UNDER_WAY, NOT_HELD_NOR_WAITING, STARTING, STARTING),
	[ENGINE_TASK_MIGRATING] =
		ROW(NONE, UNDER_WAY, NOT_HELD_NOR_WAITING, MIGRATING, MIGRATING_ALREADY),
	[ENGINE_TASK_QUARANTINED] = ROW(NONE, QUARANTINED, NONE, OVER, OVER),
};

enum engine_refusal engine_state_refusal(enum engine_task_state state, enum engine_request request)
{
	if (engine_task_state_in(state, ENGINE_TASK_OVER))
		return ENGINE_REFUSAL_OVER;
	g_assert(refusals[state][request] != 0);
	return (enum engine_refusal)(refusals[state][request] - 1);
}

enum engine_refusal engine_check_request(const struct engine *engine, enum engine_request request,
					 uint32_t index)
{
	if (engine->ended)
		return ENGINE_REFUSAL_RUN_ENDED;
	if (index >= engine->setup.workload->tasks_count)
		return ENGINE_REFUSAL_NO_TASK;
	return engine_state_refusal(engine->tasks[index].state, request);
}

/* Finds the first idle nodes of the task's cluster. Returns whether there are enough. */
static bool find_idle(const struct engine *engine, const struct engine_task *task,
		      uint32_t *ret_nodes)
{
	const uint32_t nodes = engine->setup.system->clusters[task->cluster].nodes;
	uint32_t found = 0;

	for (uint32_t node = 0; node < nodes && found < task->nodes_count; node++)
		if (engine_node_idle(engine, task->cluster, node))
			ret_nodes[found++] = node;
	return found == task->nodes_count;
}

static void resume_if_idle(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	g_autofree uint32_t *nodes = g_new(uint32_t, task->nodes_count);

	if (engine->ended || task->state != ENGINE_TASK_SUSPENDED ||
	    !find_idle(engine, task, nodes) || engine_window_refuses(engine, index))
		return;
	engine_begin_resume(engine, index, nodes);
	engine_disturb_reservations(engine); /* the nodes may be reserved for others */
	engine_record_task(engine, index);
	engine_flush(engine);
	if (!engine->ended)
		engine_launch_resume(engine, index);
}

/* Whether all suspended tasks that are not held are to be resumed without the policy. */
static bool wants_all(const struct engine *engine)
{
	return !policy_resumes(&engine->setup.policy, engine->setup.system);
}

bool engine_is_wanted(const struct engine *engine, uint32_t index)
{
	return resumption_state_is_wanted(engine_resumption_state(engine, index)) ||
	       wants_all(engine);
}

void engine_resume_wanted(struct engine *engine)
{
	g_autofree uint32_t *ids = NULL;
	const uint32_t *suspended;
	uint32_t count;

	if ((!engine_wants_suspended(engine) && !wants_all(engine)) || engine->ended)
		return;
	suspended = engine_suspended_tasks(engine, &count);
	ids = g_memdup2(suspended, count * sizeof(*suspended));
	for (uint32_t i = 0; i < count; i++)
		if (engine_is_wanted(engine, ids[i]))
			resume_if_idle(engine, ids[i]);
}

/* Holds a suspended task until a user resumes it. */
void engine_hold_suspended(struct engine *engine, uint32_t index)
{
	if (engine_has_claim(engine, index))
		engine_unclaim(engine, index);
	engine_move_resumption(engine, index, RESUMPTION_HOLD);
	engine_record_suspension(engine, index);
	engine_flush(engine);
}

enum engine_refusal engine_request_suspend(struct engine *engine, uint32_t index)
{
	g_auto(engine_noting) noting = engine_note_task(engine, ENGINE_INPUT_SUSPEND, index);
	const enum engine_refusal refusal =
		engine_check_request(engine, ENGINE_REQUEST_SUSPEND, index);

	if (!engine->ended && engine->placement->suspend_refusal)
		return engine->placement->suspend_refusal;
	if (refusal)
		return refusal;
	engine_record_request(engine, ENGINE_EVENT_SUSPEND, index);
	if (engine->tasks[index].state != ENGINE_TASK_RUNNING) {
		engine_hold_suspended(engine, index);
		return ENGINE_REFUSAL_NONE;
	}
	engine_begin_suspend(engine, index, true);
	engine_record_task(engine, index);
	engine_flush(engine);
	if (!engine->ended)
		engine_launch_suspend(engine, index);
	return ENGINE_REFUSAL_NONE;
}

enum engine_refusal engine_request_resume(struct engine *engine, uint32_t index)
{
	g_auto(engine_noting) noting = engine_note_task(engine, ENGINE_INPUT_RESUME, index);

	if (engine->ended)
		return ENGINE_REFUSAL_RUN_ENDED;
	if (engine->placement->resume_refusal)
		return engine->placement->resume_refusal;
	if (index >= engine->setup.workload->tasks_count)
		return ENGINE_REFUSAL_NO_TASK;
	switch (engine->tasks[index].state) {
	case ENGINE_TASK_SUSPENDING:
	case ENGINE_TASK_SUSPENDED:
		break;
	case ENGINE_TASK_SUSPENDING_CLAIMED:
	case ENGINE_TASK_SUSPENDED_CLAIMED:
	case ENGINE_TASK_RESUMING:
		return ENGINE_REFUSAL_NONE;
	default:
		return ENGINE_REFUSAL_NOT_SUSPENDED;
	}
	engine_record_request(engine, ENGINE_EVENT_RESUME, index);
	/* Also if another user or a policy had suspended it. */
	engine_move_resumption(engine, index, RESUMPTION_WANT);
	engine_record_suspension(engine, index);
	engine_flush(engine);
	resume_if_idle(engine, index);
	return ENGINE_REFUSAL_NONE;
}

enum engine_refusal engine_check_migrate(const struct engine *engine, uint32_t index)
{
	const bool known = !engine->ended && index < engine->setup.workload->tasks_count;

	if (known && engine->placement->migrate_refusal)
		return engine->placement->migrate_refusal;
	if (known && !backend_migrates(engine->backend))
		return ENGINE_REFUSAL_NO_MIGRATION;
	return engine_check_request(engine, ENGINE_REQUEST_MIGRATE, index);
}

/*
 * Distributes the task's nodes over hosts so that as many as possible stay: where not all hosts get
 * equally many, one more goes to the hosts that have more already, then to the first ones. Writes
 * the host of each node that stays, or UINT32_MAX for a node that moves, to ret_hosts, and how many
 * more nodes each host gets to ret_rooms.
 */
static void distribute_over_hosts(const struct engine_task *task, const uint32_t *hosts,
				  uint32_t hosts_count, const uint32_t *node_hosts,
				  uint32_t *ret_hosts, uint32_t *ret_rooms)
{
	const uint32_t each = task->nodes_count / hosts_count;
	uint32_t rest = task->nodes_count % hosts_count;

	for (uint32_t h = 0; h < hosts_count; h++) {
		uint32_t has = 0;

		for (uint32_t v = 0; v < task->nodes_count; v++)
			has += node_hosts[task->nodes[v]] == hosts[h];
		ret_rooms[h] = each + (has > each && rest > 0);
		rest -= ret_rooms[h] - each;
	}
	for (uint32_t h = 0; h < hosts_count && rest > 0; h++) {
		rest -= ret_rooms[h] == each;
		ret_rooms[h] = each + 1;
	}
	for (uint32_t v = 0; v < task->nodes_count; v++) {
		ret_hosts[v] = UINT32_MAX;
		for (uint32_t h = 0; h < hosts_count; h++) {
			if (hosts[h] != node_hosts[task->nodes[v]] || ret_rooms[h] == 0)
				continue;
			ret_hosts[v] = hosts[h];
			ret_rooms[h]--;
		}
	}
}

/*
 * A node of a host that takes a VM of the task beside the `count` chosen nodes; UINT32_MAX: there
 * is none.
 */
static uint32_t find_node_on(const struct engine *engine, const struct engine_task *task,
			     uint32_t host, const uint32_t *node_hosts, const uint32_t *chosen,
			     uint32_t count)
{
	for (uint32_t node = 0; node < engine->setup.system->clusters[task->cluster].nodes; node++)
		if (node_hosts[node] == host &&
		    engine->placement->takes_vm(engine, task->cluster, node, chosen, count))
			return node;
	return UINT32_MAX;
}

/*
 * Chooses the nodes that a task migrates to. Returns UINT32_MAX, or the host that has too little
 * room.
 */
static uint32_t choose_nodes(const struct engine *engine, const struct engine_task *task,
			     const uint32_t *hosts, uint32_t hosts_count,
			     const uint32_t *node_hosts, uint32_t *ret_nodes)
{
	g_autofree uint32_t *wanted = g_new(uint32_t, task->nodes_count);
	g_autofree uint32_t *rooms = g_new(uint32_t, hosts_count);

	distribute_over_hosts(task, hosts, hosts_count, node_hosts, wanted, rooms);
	for (uint32_t v = 0, h = 0; v < task->nodes_count; v++) {
		ret_nodes[v] = task->nodes[v];
		if (wanted[v] != UINT32_MAX)
			continue;
		while (rooms[h] == 0)
			h++;
		rooms[h]--;
		ret_nodes[v] = find_node_on(engine, task, hosts[h], node_hosts, ret_nodes, v);
		if (ret_nodes[v] == UINT32_MAX)
			return hosts[h];
	}
	return engine->placement->find_full_node(engine, task->task->id, ret_nodes);
}

enum engine_refusal engine_request_migrate(struct engine *engine, uint32_t index,
					   const uint32_t *hosts, uint32_t hosts_count,
					   const uint32_t *node_hosts, uint32_t *ret_full)
{
	const enum engine_refusal refusal = engine_check_migrate(engine, index);
	const struct engine_task *task = &engine->tasks[index];
	g_autofree uint32_t *nodes = NULL;

	*ret_full = UINT32_MAX;
	if (refusal)
		return refusal;

	g_auto(engine_noting) noting = engine_note(
		engine, ENGINE_INPUT_MIGRATE,
		json_pack("{s:I, s:o, s:o}", "task", (json_int_t)index, "hosts",
			  json_numbers(hosts, hosts_count), "node_hosts",
			  json_numbers(node_hosts,
				       engine->setup.system->clusters[task->cluster].nodes)));

	if (hosts_count == 0 || hosts_count > task->nodes_count)
		return ENGINE_REFUSAL_TOO_MANY_HOSTS;
	nodes = g_new(uint32_t, task->nodes_count);
	*ret_full = choose_nodes(engine, task, hosts, hosts_count, node_hosts, nodes);
	if (*ret_full != UINT32_MAX)
		return ENGINE_REFUSAL_NO_ROOM;
	if (memcmp(nodes, task->nodes, task->nodes_count * sizeof(*nodes)) == 0)
		return ENGINE_REFUSAL_THERE_ALREADY;
	engine->placement->order_nodes(nodes, task->nodes_count);
	engine_record_request(engine, ENGINE_EVENT_MIGRATE, index);
	engine_begin_migrate(engine, index, nodes, true);
	engine_disturb_reservations(engine); /* the nodes may be reserved for others */
	engine_record_task(engine, index);
	engine_flush(engine);
	if (!engine->ended)
		engine_launch_migrate(engine, index);
	engine->placement->note_migration(engine, ENGINE_TASK_MIGRATE);
	return ENGINE_REFUSAL_NONE;
}
