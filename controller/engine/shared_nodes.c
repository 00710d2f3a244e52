/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hosts that tasks share in time (Stillwell 2010): promised memory, yields and virtual times. A
 * task that gets memory which other VMs still have to leave has a claim, as with nodes
 * (suspension.c). The claim is carried out when all VMs that were promised the host's memory fit
 * beside those that are leaving.
 */
#include <math.h>

#include "controller/engine/shared_nodes.h"
#include "controller/engine/state.h"
#include "controller/engine/suspension.h"

void engine_shared_nodes_init(struct engine *engine)
{
	const struct sched_system *system = engine->setup.system;
	const uint32_t count = workload_room(engine->setup.workload);

	if (!system->shared)
		return;
	g_assert(system->clusters_count == 1);
	engine->shared_nodes = g_new0(struct engine_shared_node, system->clusters[0].nodes);
	engine->deferrals = g_new0(struct sched_deferred, count);
	engine->deferred = g_new(struct sched_deferred, count);
}

void engine_shared_nodes_finish(struct engine *engine)
{
	g_free(engine->shared_nodes);
	g_free(engine->deferrals);
	g_free(engine->deferred);
}

/* Changes a sum of memory. The sum is exactly 0 when no VM is left, without rounding errors. */
static void change_memory(double *sum, uint32_t *vms, double memory, bool more)
{
	*vms += more ? 1 : -1u;
	*sum = *vms > 0 ? *sum + (more ? memory : -memory) : 0;
}

void engine_promise_memory(struct engine *engine, uint32_t index, const uint32_t *nodes, bool more)
{
	const struct sched_demand *demand = &engine->known[index].demand;

	for (uint32_t v = 0; v < demand->vms; v++) {
		struct engine_shared_node *host = &engine->shared_nodes[nodes[v]];

		change_memory(&host->promised, &host->promised_vms, demand->memory, more);
	}
}

void engine_leave_shared_nodes(struct engine *engine, uint32_t task, const uint32_t *nodes,
			       uint32_t count, bool leaves)
{
	const double memory = engine->known[task].demand.memory;

	for (uint32_t v = 0; v < count; v++) {
		struct engine_shared_node *host = &engine->shared_nodes[nodes[v]];

		change_memory(&host->leaving, &host->leaving_vms, memory, leaves);
	}
}

uint32_t engine_find_full_node(const struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];
	const double memory = engine->known[index].demand.memory;

	for (uint32_t v = 0; v < task->nodes_count; v++) {
		const struct engine_shared_node *host = &engine->shared_nodes[nodes[v]];
		uint32_t come = 0;

		for (uint32_t u = 0; u < task->nodes_count; u++)
			come += nodes[u] == nodes[v] && task->nodes[u] != nodes[u];
		if (come > 0 &&
		    host->promised + host->leaving + come * memory > 1 + SCHED_SHARE_SLACK)
			return nodes[v];
	}
	return UINT32_MAX;
}

bool engine_shared_nodes_have_room(const struct engine *engine, uint32_t index,
				   const uint32_t *nodes)
{
	return engine_find_full_node(engine, index, nodes) == UINT32_MAX;
}

uint32_t engine_overfull_nodes(const struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	uint32_t overfull = 0;

	for (uint32_t v = 0; v < engine->known[index].demand.vms; v++) {
		const struct engine_shared_node *host = &engine->shared_nodes[nodes[v]];

		overfull += host->promised + host->leaving > 1 + SCHED_SHARE_SLACK;
	}
	return overfull;
}

uint32_t engine_unblock_shared_nodes(struct engine *engine, uint32_t *ret_tasks)
{
	uint32_t count = 0;

	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const struct sched_running *running = &engine->running.entries[i];
		const uint32_t index = running->task->id;

		if (!engine_has_claim(engine, index))
			continue;
		engine->claim_waits[index] =
			engine_overfull_nodes(engine, index, running->nodes) +
			(engine->tasks[index].state == ENGINE_TASK_SUSPENDING_CLAIMED);
		if (engine->claim_waits[index] == 0)
			ret_tasks[count++] = index;
	}
	return count;
}

uint32_t engine_find_claimant(struct engine *engine, uint32_t node)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const struct sched_running *running = &engine->running.entries[i];

		for (uint32_t v = 0;
		     engine_has_claim(engine, running->task->id) && v < running->nodes_count; v++)
			if (running->nodes[v] == node)
				return running->task->id;
	}
	return ENGINE_NO_TASK;
}

/* Yields and virtual time. */

double engine_virtual_s(const struct engine_task *task, double time_s)
{
	return isnan(task->sharing_s)
		       ? task->virtual_s
		       : task->virtual_s + task->yield * fmax(0, time_s - task->sharing_s);
}

void engine_begin_sharing(struct engine *engine, uint32_t index, double pause_s)
{
	if (engine->shared_nodes)
		engine->tasks[index].sharing_s = backend_now_s(engine->backend) + pause_s;
}

void engine_stop_sharing(struct engine *engine, uint32_t index, double time_s)
{
	struct engine_task *task = &engine->tasks[index];

	task->virtual_s = engine_virtual_s(task, time_s);
	task->sharing_s = NAN;
}

void engine_set_yield(struct engine *engine, uint32_t index, double yield)
{
	struct engine_task *task = &engine->tasks[index];
	const double time_s = backend_now_s(engine->backend);
	struct engine_recorder *recorder = engine->setup.recorder;

	if (!isnan(task->sharing_s)) {
		task->virtual_s = engine_virtual_s(task, time_s);
		task->sharing_s = fmax(time_s, task->sharing_s);
	}
	task->yield = yield;
	if (recorder && recorder->share && !recorder->share(recorder, time_s, task))
		engine_abort(engine, "the share of task %u could not be recorded", index);
}

double engine_virtual_time_s(const struct engine *engine, uint32_t task)
{
	return engine_virtual_s(&engine->tasks[task], backend_now_s(engine->backend));
}

/* Deferred tasks. */

void engine_defer(struct engine *engine, uint32_t index, double until_s)
{
	struct sched_deferred *deferred = &engine->deferrals[index];

	deferred->task = &engine->known[index];
	deferred->count++;
	deferred->until_s = until_s;
}

uint32_t engine_list_deferred(struct engine *engine)
{
	uint32_t count = 0;

	for (uint32_t i = 0; engine->shared_nodes && i < engine->waiting.count; i++)
		if (engine->deferrals[engine->waiting.ids[i]].count > 0)
			engine->deferred[count++] = engine->deferrals[engine->waiting.ids[i]];
	return count;
}

double engine_next_deferred_s(const struct engine *engine, double after_s)
{
	double next_s = INFINITY;

	/* The list has no order and may have former members: only the snapshot needs it settled. */
	for (uint32_t i = 0; engine->shared_nodes && i < engine->waiting.listed; i++) {
		const uint32_t index = engine->waiting.ids[i];
		const struct sched_deferred *deferred = &engine->deferrals[index];

		if (engine->tasks[index].state == ENGINE_TASK_WAITING && deferred->count > 0 &&
		    deferred->until_s > after_s)
			next_s = fmin(next_s, deferred->until_s);
	}
	return next_s;
}

/* Validation of plans. */

const char *engine_validate_shares(const struct engine *engine)
{
	const uint32_t hosts = engine->setup.system->clusters[0].nodes;
	g_autofree double *shares = g_new0(double, hosts);

	for (uint32_t i = 0; i < engine->running.listed; i++) {
		const struct sched_running *running = &engine->running.entries[i];

		for (uint32_t v = 0; running->task && v < running->nodes_count; v++)
			shares[running->nodes[v]] +=
				engine->tasks[running->task->id].yield * running->task->demand.cpu;
	}
	for (uint32_t h = 0; h < hosts; h++) {
		if (engine->shared_nodes[h].promised > 1 + 2 * SCHED_SHARE_SLACK)
			return "more memory than a host has";
		if (shares[h] > 1 + 2 * SCHED_SHARE_SLACK)
			return "more CPU than a host has";
	}
	return NULL;
}
