/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hosts that tasks share in time (Stillwell 2010): promised memory, yields and virtual times. A
 * task that gets memory which other VMs still have to leave has a claim, as with nodes of a task's
 * own (suspension.c). The claim is carried out when all VMs that were promised the host's memory
 * fit beside the VMs that are leaving.
 */
#include <math.h>

#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/migration.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/shared_hosts.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/yield.h"

struct placement {
	struct shared_host *hosts;
	struct sched_allocation *deferrals; /* per task; deferrals 0: not deferred */
	struct sched_allocation *deferred;  /* of waiting tasks, for the snapshot */
};

static void init(struct engine *engine)
{
	const struct sched_system *system = engine->setup.system;
	const uint32_t count = workload_room(engine->setup.workload);
	struct placement *state = g_new0(struct placement, 1);

	g_assert(system->clusters_count == 1);
	state->hosts = g_new0(struct shared_host, system->clusters[0].nodes);
	state->deferrals = g_new0(struct sched_allocation, count);
	state->deferred = g_new(struct sched_allocation, count);
	engine->placement_state = state;
}

static void finish(struct engine *engine)
{
	g_free(engine->placement_state->hosts);
	g_free(engine->placement_state->deferrals);
	g_free(engine->placement_state->deferred);
	g_free(engine->placement_state);
}

/* Hosts of a task. */

static uint32_t width(const struct sched_system *system, const struct sched_task *task)
{
	return task->demand.vms;
}

/* How long a task takes depends on its yields, and is not known. */
static void estimate(struct engine *engine, uint32_t index)
{
	engine->tasks[index].etc_s = INFINITY;
	engine->tasks[index].eec_j = 0;
}

static void allocate(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct sched_demand *demand = &engine->known[index].demand;

	shared_hosts_promise(engine->placement_state->hosts, nodes, demand->vms, demand->memory,
			     true);
}

static void free_hosts(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct sched_demand *demand = &engine->known[index].demand;

	shared_hosts_promise(engine->placement_state->hosts, nodes, demand->vms, demand->memory,
			     false);
}

static void set_departing(struct engine *engine, uint32_t task, uint32_t cluster,
			  const uint32_t *nodes, uint32_t count, bool leaves)
{
	shared_hosts_leave(engine->placement_state->hosts, nodes, count,
			   engine->known[task].demand.memory, leaves);
}

/* Claims. */

static uint32_t count_waits(const struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	return shared_hosts_count_overfull(engine->placement_state->hosts, nodes,
					   engine->known[index].demand.vms);
}

static uint32_t find_claimant(struct engine *engine, uint32_t cluster, uint32_t node)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const struct sched_allocation *running = &engine->running.entries[i];

		for (uint32_t v = 0;
		     engine_has_claim(engine, running->task->id) && v < running->nodes_count; v++)
			if (running->nodes[v] == node)
				return running->task->id;
	}
	return ENGINE_NO_TASK;
}

/* Any claim may have come due: the nodes are not used. */
static uint32_t find_due_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes,
				uint32_t nodes_count, uint32_t leaver, uint32_t *ret_tasks)
{
	uint32_t count = 0;

	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const struct sched_allocation *running = &engine->running.entries[i];
		const uint32_t index = running->task->id;

		if (!engine_has_claim(engine, index))
			continue;
		engine_set_claim_waits(engine, index,
				       count_waits(engine, index, running->nodes) +
					       (engine->tasks[index].state ==
						ENGINE_TASK_SUSPENDING_CLAIMED));
		if (engine_claim_waits(engine, index) == 0)
			ret_tasks[count++] = index;
	}
	return count;
}

/* Why a task waits. */

/* Whether a task fits in the memory of hosts that are up and `empty`, or else in what is free. */
static bool fits_hosts(const struct engine *engine, uint32_t index, bool empty)
{
	const struct sched_demand *demand = &engine->known[index].demand;
	double vms = 0;

	for (uint32_t h = 0; h < engine_nodes_count(engine); h++)
		if (engine_node_takes_tasks(engine, 0, h))
			vms += shared_host_vms(&engine->placement_state->hosts[h], demand->memory,
					       empty);
	return vms >= demand->vms;
}

static bool fits(const struct engine *engine, uint32_t index)
{
	return fits_hosts(engine, index, true);
}

static const char *waits_because(const struct engine *engine, uint32_t index)
{
	const struct sched_allocation *deferral = &engine->placement_state->deferrals[index];
	const double left_s = deferral->start_s - fmax(0, engine_now_s(engine));

	if (deferral->deferrals > 0 && left_s > 0) {
		g_snprintf(engine->because, ENGINE_BECAUSE_SIZE,
			   "deferred by the policy, for another %.0f s", left_s);
		return engine->because;
	}
	return fits_hosts(engine, index, false) ? NULL : "no host has memory to spare";
}

/* Migrations. */

static bool takes_vm(const struct engine *engine, uint32_t cluster, uint32_t node,
		     const uint32_t *chosen, uint32_t count)
{
	return engine_node_takes_tasks(engine, cluster, node);
}

static uint32_t find_full_node(const struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	return shared_hosts_find_full(engine->placement_state->hosts, task->nodes, nodes,
				      task->nodes_count, engine->known[index].demand.memory);
}

/* The host of each VM, in the order of the VMs. */
static void keep_order(uint32_t *nodes, uint32_t count)
{
}

/* One entry for each VM that moves. */
static uint32_t find_left(const struct engine_migration *migration, uint32_t *ret_left)
{
	uint32_t count = 0;

	for (uint32_t v = 0; v < migration->nodes_count; v++)
		if (migration->nodes[v] != migration->to_nodes[v])
			ret_left[count++] = migration->nodes[v];
	return count;
}

static void note_migration(struct engine *engine, enum engine_task_event event)
{
	switch (event) {
	case ENGINE_TASK_MIGRATE: /* the CPU that is left for the other tasks has changed */
		engine_want_mapping(engine);
		engine_stir(engine);
		break;
	case ENGINE_TASK_MIGRATE_FAILED:
		engine_want_mapping(engine);
		break;
	default: /* memory could be promised while it was being left */
		break;
	}
}

/* Intervals of execution: the virtual time of a task advances by its yield. */

static void begin_interval(struct engine *engine, uint32_t index, double pause_s)
{
	engine->tasks[index].sharing_s = backend_now_s(engine->backend) + pause_s;
}

static void end_interval(struct engine *engine, uint32_t index, double time_s)
{
	struct engine_task *task = &engine->tasks[index];

	task->virtual_s = engine_virtual_s(task, time_s);
	task->sharing_s = NAN;
}

static void send_share(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	backend_share(engine->backend, index, task->attempts, task->yield);
}

/* Decisions. */

/* The yields of running tasks may change. */
static bool has_to_decide(const struct engine *engine)
{
	return engine_waiting_count(engine) + engine_suspended_count(engine) +
		       engine->running.count >
	       0;
}

/* A deferred task is considered again. */
static double next_deferred_s(const struct engine *engine, double after_s)
{
	double next_s = INFINITY;
	uint32_t listed;
	const uint32_t *waiting = engine_waiting_listed(engine, &listed);

	for (uint32_t i = 0; i < listed; i++) {
		const uint32_t index = waiting[i];
		const struct sched_allocation *deferred =
			&engine->placement_state->deferrals[index];

		if (engine->tasks[index].state == ENGINE_TASK_WAITING && deferred->deferrals > 0 &&
		    deferred->start_s > after_s)
			next_s = fmin(next_s, deferred->start_s);
	}
	return next_s;
}

/* Hosts that VMs are leaving may still have room for others: they are not listed as down. */
static void fill_snapshot(struct engine *engine, struct sched_snapshot *snapshot)
{
	struct placement *state = engine->placement_state;
	uint32_t listed;
	const uint32_t *waiting = engine_waiting_listed(engine, &listed);

	for (uint32_t i = 0; i < engine->running.count; i++) {
		struct sched_allocation *running = &engine->running.entries[i];
		const struct engine_task *task = &engine->tasks[running->task->id];

		running->yield = task->yield;
		running->virtual_s = engine_virtual_s(task, snapshot->now_s);
		running->busy = task->state != ENGINE_TASK_RUNNING;
	}
	for (uint32_t i = 0; i < listed; i++)
		if (state->deferrals[waiting[i]].deferrals > 0)
			state->deferred[snapshot->deferred_count++] = state->deferrals[waiting[i]];
	snapshot->deferred = state->deferred;
}

/* Plans. */

/* Checks the hosts for all VMs of a task. check_plan() checks their memory later. */
static const char *check_hosts(const struct engine *engine, const struct sched_action *action)
{
	if (!(action->yield > 0 && action->yield <= 1))
		return "its yield is not above 0 and at most 1";
	if (action->cluster != 0 || action->nodes_count != engine->known[action->task].demand.vms)
		return "it needs another number of hosts";
	/* A SHARE of a task on a host that is down is legal until the task is lost. */
	for (uint32_t v = 0; v < action->nodes_count; v++)
		if (action->nodes[v] >= engine->setup.system->clusters[0].nodes ||
		    (action->kind != SCHED_ACTION_SHARE &&
		     !engine_node_takes_tasks(engine, 0, action->nodes[v])))
			return "there is no such host, or it is down";
	return NULL;
}

/* Checks that a task runs; with `busy` it may still be starting or resuming. */
static const char *check_running(const struct engine *engine, uint32_t index, bool busy)
{
	if (engine->tasks[index].state == ENGINE_TASK_RUNNING ||
	    (busy && running_list_find(&engine->running, index)))
		return NULL;
	return "it does not run";
}

static const char *check_action(const struct engine *engine, const struct sched_action *action)
{
	const char *problem;

	switch (action->kind) {
	case SCHED_ACTION_DROP:
		return engine_validate_drop(engine, action->task);
	case SCHED_ACTION_PLACE:
		problem = engine_validate_mappable(engine, action->task);
		return problem ? problem : check_hosts(engine, action);
	case SCHED_ACTION_SHARE:
	case SCHED_ACTION_MIGRATE:
		problem = check_running(engine, action->task, action->kind == SCHED_ACTION_SHARE);
		return problem ? problem : check_hosts(engine, action);
	case SCHED_ACTION_RESUME:
		problem = engine_validate_suspended(engine, action->task);
		return problem ? problem : check_hosts(engine, action);
	case SCHED_ACTION_PAUSE:
		return check_running(engine, action->task, false);
	case SCHED_ACTION_DEFER:
		return engine_validate_mappable(engine, action->task);
	default:
		return "it gives nodes to one task at a time";
	}
}

/* Counts the VMs that a pause or a migration takes off hosts. */
static void count_moves(struct engine *engine, const struct sched_action *action)
{
	const struct engine_task *task = &engine->tasks[action->task];
	const double memory = task->task->demand.memory;
	uint32_t moved = 0;

	if (action->kind == SCHED_ACTION_PAUSE) {
		engine_count_pause(engine, task->nodes_count * memory);
		return;
	}
	for (uint32_t v = 0; v < task->nodes_count; v++)
		moved += task->nodes[v] != action->nodes[v];
	engine_count_move(engine, moved * memory);
}

/*
 * Migrates a task while it runs, if possible; otherwise suspends and resumes it, as when two tasks
 * swap hosts.
 */
static void migrate(struct engine *engine, const struct sched_action *action)
{
	if (backend_migrates(engine->backend) &&
	    !engine_migration_retries_exhausted(engine, action->task) &&
	    find_full_node(engine, action->task, action->nodes) == UINT32_MAX) {
		engine_set_yield(engine, action->task, action->yield);
		engine_begin_migrate(engine, action->task, action->nodes, false);
		return;
	}
	engine_begin_suspend(engine, action->task, false);
	engine_set_yield(engine, action->task, action->yield);
	engine_begin_resume(engine, action->task, action->nodes);
}

/* Defers a waiting task once more, until until_s. */
static void defer(struct engine *engine, uint32_t index, double until_s)
{
	struct sched_allocation *deferred = &engine->placement_state->deferrals[index];

	deferred->task = &engine->known[index];
	deferred->deferrals++;
	deferred->start_s = until_s;
}

static void prepare_action(struct engine *engine, const struct sched_action *action)
{
	switch (action->kind) {
	case SCHED_ACTION_PAUSE:
		count_moves(engine, action);
		engine_begin_suspend(engine, action->task, false);
		break;
	case SCHED_ACTION_MIGRATE:
		count_moves(engine, action);
		migrate(engine, action);
		break;
	case SCHED_ACTION_SHARE:
		engine_set_yield(engine, action->task, action->yield);
		break;
	case SCHED_ACTION_RESUME:
		engine_set_yield(engine, action->task, action->yield);
		engine_prepare_action(engine, action);
		break;
	case SCHED_ACTION_DEFER:
		defer(engine, action->task, action->start_s);
		break;
	case SCHED_ACTION_PLACE:
		engine_set_place(engine, action->task, action->cluster, 0, action->nodes,
				 action->nodes_count);
		engine_set_yield(engine, action->task, action->yield);
		engine_begin(engine, action->task);
		break;
	default:
		engine_prepare_action(engine, action);
	}
}

static void launch_action(struct engine *engine, const struct sched_action *action)
{
	const struct engine_task *task = &engine->tasks[action->task];

	switch (action->kind) {
	case SCHED_ACTION_MIGRATE:
		if (task->state == ENGINE_TASK_MIGRATING)
			engine_launch_migrate(engine, action->task);
		else
			engine_launch_suspend(engine, action->task);
		break;
	case SCHED_ACTION_PAUSE:
		engine_launch_suspend(engine, action->task);
		break;
	case SCHED_ACTION_SHARE:
		if (!engine_has_claim(engine, action->task))
			send_share(engine, action->task);
		break;
	case SCHED_ACTION_PLACE:
		if (task->state == ENGINE_TASK_STARTING)
			engine_launch(engine, action->task);
		break;
	default:
		engine_launch_action(engine, action);
	}
}

static const char *check_plan(const struct engine *engine)
{
	const uint32_t hosts = engine->setup.system->clusters[0].nodes;
	g_autofree double *shares = g_new0(double, hosts);

	for (uint32_t i = 0; i < engine->running.listed; i++) {
		const struct sched_allocation *running = &engine->running.entries[i];

		for (uint32_t v = 0; running->task && v < running->nodes_count; v++)
			shares[running->nodes[v]] +=
				engine->tasks[running->task->id].yield * running->task->demand.cpu;
	}
	for (uint32_t h = 0; h < hosts; h++) {
		if (engine->placement_state->hosts[h].promised > 1 + 2 * SCHED_SHARE_SLACK)
			return "more memory than a host has";
		if (shares[h] > 1 + 2 * SCHED_SHARE_SLACK)
			return "more CPU than a host has";
	}
	return NULL;
}

/* Not reached for tasks on nodes (`restorable`); a queued one has no queue. */
static bool restore_place(struct engine *engine, uint32_t index, const struct engine_task *record)
{
	return false;
}

const struct placement_ops placement_shared = {
	.name = "shared",
	.suspend_refusal = ENGINE_REFUSAL_SHARED_HOSTS,
	.resume_refusal = ENGINE_REFUSAL_SHARED_HOSTS,
	.init = init,
	.finish = finish,
	.width = width,
	.estimate = estimate,
	.allocate = allocate,
	.free = free_hosts,
	.set_departing = set_departing,
	.count_waits = count_waits,
	.find_claimant = find_claimant,
	.find_due_claims = find_due_claims,
	.fits = fits,
	.waits_because = waits_because,
	.takes_vm = takes_vm,
	.find_full_node = find_full_node,
	.order_nodes = keep_order,
	.find_left = find_left,
	.note_migration = note_migration,
	.begin_interval = begin_interval,
	.end_interval = end_interval,
	.send_share = send_share,
	.policy_memory = placement_without_memory,
	.has_to_decide = has_to_decide,
	.next_s = next_deferred_s,
	.fill_snapshot = fill_snapshot,
	.note_decision = placement_without_notes,
	.check_action = check_action,
	.prepare_action = prepare_action,
	.launch_action = launch_action,
	.check_plan = check_plan,
	.has_queued = placement_without_queued,
	.start_next = placement_without_queues,
	.handle_event = placement_without_queue_events,
	.task_ended = placement_without_deadlines,
	.kill_queued = placement_without_queues,
	.restore_place = restore_place,
	.restore_pruner = placement_without_pruner,
	.resend_queues = placement_without_queues,
};
