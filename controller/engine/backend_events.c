/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handles the backend's events: how attempts began and ended, and which nodes are down. */
#include <math.h>

#include "controller/engine/backend_events.h"
#include "controller/engine/control_running.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/migration.h"
#include "controller/engine/node_fsm.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/reservations.h"
#include "controller/engine/suspension.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"

/* Attempts that ended. */

double engine_day_share(const struct engine *engine, uint32_t index, double start_s, double end_s)
{
	const struct engine_setup *setup = &engine->setup;
	const double executed_s = engine->tasks[index].executed_s;
	double counts_s = executed_s;
	double begin_s = start_s;

	if (setup->lead_s <= 0)
		return 1;
	if (engine_day_begun(engine)) {
		begin_s = fmax(start_s, setup->lead_s);
		counts_s -= engine_suspension_lead_s(engine, index);
	}
	return (counts_s + (fmin(end_s, setup->duration_s) - begin_s)) /
	       (executed_s + (end_s - start_s));
}

/* The event that the outcome of an attempt is for its task; counts the outcome. */
static enum engine_task_event after_outcome(struct engine *engine, uint32_t index,
					    const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[index];

	switch (event->outcome) {
	case BACKEND_OUTCOME_COMPLETED:
		task->utility = sched_task_utility(task->task, event->time_s) *
				engine_day_share(engine, index, task->since_s, event->time_s);
		engine_count_utility(engine, task->utility);
		engine_note_utility(engine, event->time_s, task->utility);
		engine_count_completed(engine, task);
		return ENGINE_TASK_COMPLETE;
	case BACKEND_OUTCOME_LOST:
		return engine_after_loss(engine, index, event->time_s, event->reason);
	case BACKEND_OUTCOME_KILLED:
		/*
		 * The controller did not request it, so the attempt is from a service that was
		 * killed before it could record that it stopped.
		 */
		if (engine->setup.open && task->request != REQUEST_CANCELLED && !engine->ended)
			return engine_after_loss(engine, index, event->time_s, event->reason);
		engine_count_failed(engine);
		return ENGINE_TASK_KILL;
	case BACKEND_OUTCOME_NONE:
	case BACKEND_OUTCOME_FAILED:
		break;
	}
	engine_count_failed(engine);
	return ENGINE_TASK_FAIL;
}

/* Tasks. */

/* Whether the event is about the current attempt of a task that has not ended. */
static bool is_current(const struct engine *engine, const struct backend_event *event)
{
	if (event->task >= engine->setup.workload->tasks_count)
		return false;

	const struct engine_task *task = &engine->tasks[event->task];

	if (task->state == ENGINE_TASK_QUEUED && !backend_keeps_queues(engine->backend))
		return false;
	return task->attempts == event->attempt &&
	       engine_task_state_in(task->state, ENGINE_TASK_ATTEMPTED);
}

static void handle_started(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];

	if (!is_current(engine, event) || !engine_expects(engine, event->task, ENGINE_TASK_STARTED))
		return;
	engine_move_task(engine, event->task, ENGINE_TASK_STARTED);
	engine_set_preemptible(engine, event->task);
	task->reason = event->reason;
	engine_record_task(engine, event->task);
	engine_release_reason(engine, task);
}

static bool handle_ended(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task;
	enum engine_task_state state;

	if (!is_current(engine, event))
		return false;
	task = &engine->tasks[event->task];
	state = task->state;
	engine_want_mapping(engine);
	engine_clear_overrun(engine, event->task);
	engine_window_note_ran(engine, event->task, event->time_s);
	if (engine_task_state_in(state, ENGINE_TASK_ON_NODES)) {
		engine->placement->end_interval(engine, event->task, event->time_s);
		engine->placement->free(engine, event->task, task->nodes);
		engine_window_note_end(engine, event->task, event->time_s);
		running_list_remove(&engine->running, event->task);
	}
	task->ended_s = event->time_s;
	task->exec_s = event->exec_s;
	engine_take_energy(engine, event->task, event->energy_j);
	engine_move_task(engine, event->task, after_outcome(engine, event->task, event));
	task->reason = event->reason;
	engine->placement->task_ended(engine, event->task, state);
	engine_set_preemptible(engine, event->task);
	engine_record_task(engine, event->task);
	engine_record_end(engine, event->task);
	engine_release_reason(engine, task);
	engine_end_suspension(engine, event->task);
	engine_end_migration(engine, event->task);
	return true;
}

/* Nodes. */

/* What follows from a node's move by an event; `took`: it took tasks before. */
static void follow_node(struct engine *engine, const struct sched_node *node, bool took,
			enum node_event event, double time_s)
{
	const struct sched_allocation place = {.cluster = node->cluster,
					       .nodes = &node->node,
					       .nodes_count = 1,
					       .end_s = INFINITY};
	const char *why = event == NODE_FAIL ? "node went down" : "node is drained";

	if (engine_node_takes_tasks(engine, node->cluster, node->node) == took)
		return;
	engine_note_change(engine);
	engine_want_mapping(engine);
	if (!took) {
		engine_replan_for_node(engine);
		return;
	}
	engine_unclaim_node(engine, node->cluster, node->node);
	engine_cancel_planned_on(engine, &place, time_s, why);
}

bool engine_change_node(struct engine *engine, const struct sched_node *node, enum node_event event,
			const char *reason, const char *user, double time_s)
{
	static const enum engine_event_kind kinds[NODE_EVENTS] = {
		[NODE_FAIL] = ENGINE_EVENT_NODE_DOWN,
		[NODE_RECOVER] = ENGINE_EVENT_NODE_UP,
		[NODE_DRAIN] = ENGINE_EVENT_DRAINED,
		[NODE_UNDRAIN] = ENGINE_EVENT_UNDRAINED,
	};
	const bool took = engine_node_takes_tasks(engine, node->cluster, node->node);

	if (!engine_move_node(engine, node, event, reason))
		return false;
	engine_record_node(engine, time_s, kinds[event], node, reason, user);
	follow_node(engine, node, took, event, time_s);
	return true;
}

void engine_redrain_node(struct engine *engine, const struct sched_node *node, const char *reason,
			 double time_s)
{
	const bool took = engine_node_takes_tasks(engine, node->cluster, node->node);

	if (engine_move_node(engine, node, NODE_DRAIN, reason))
		follow_node(engine, node, took, NODE_DRAIN, time_s);
}

static void handle_node(struct engine *engine, const struct backend_event *event)
{
	const struct sched_node node = {event->cluster, event->node};

	if (node.cluster < engine->setup.system->clusters_count &&
	    node.node < engine->setup.system->clusters[node.cluster].nodes)
		engine_change_node(engine, &node,
				   event->kind == BACKEND_EVENT_NODE_DOWN ? NODE_FAIL
									  : NODE_RECOVER,
				   event->reason, NULL, event->time_s);
}

/* All events. */

/* Handles an event. Returns whether a task may have left nodes. */
static bool handle(struct engine *engine, const struct backend_event *event)
{
	if (engine->placement->handle_event(engine, event))
		return false;
	switch (event->kind) {
	case BACKEND_EVENT_STARTED:
		handle_started(engine, event);
		break;
	case BACKEND_EVENT_ENDED:
		return handle_ended(engine, event);
	case BACKEND_EVENT_NODE_DOWN:
	case BACKEND_EVENT_NODE_UP:
		handle_node(engine, event);
		break;
	case BACKEND_EVENT_ABORTED:
		engine_abort(engine, "%s", event->reason ? event->reason : "the backend gave up");
		break;
	case BACKEND_EVENT_SUSPENDED:
	case BACKEND_EVENT_RESUMED:
	case BACKEND_EVENT_SUSPENSION_FAILED:
		return is_current(engine, event) &&
		       event->n == engine->tasks[event->task].suspensions &&
		       engine_handle_suspension(engine, event);
	case BACKEND_EVENT_MIGRATED:
	case BACKEND_EVENT_MIGRATION_FAILED:
		return is_current(engine, event) && engine_handle_migration(engine, event);
	case BACKEND_EVENT_NONE:
	case BACKEND_EVENT_BEGAN:
	case BACKEND_EVENT_ENERGY_LIMIT:
		break;
	}
	return false;
}

void engine_handle(struct engine *engine, const struct backend_event *event)
{
	if (!handle(engine, event))
		return;
	engine_retry_late(engine, event->time_s);
	engine_resume_wanted(engine);
}
