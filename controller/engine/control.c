/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of users during a run: tasks that are submitted, cancelled, held and released, and nodes
 * that are drained. After an interruption the caller, which keeps these requests, restores them.
 */
#include <jansson.h>
#include <math.h>

#include "common/json.h"
#include "controller/engine/backend_events.h"
#include "controller/engine/control_running.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/placement.h"
#include "controller/engine/places.h"
#include "controller/engine/reservations.h"
#include "controller/engine/suspension.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"

static double now_s(const struct engine *engine)
{
	return fmax(0, backend_now_s(engine->backend));
}

/* Has a policy that decides at changes decide now. */
static void ask_policy(struct engine *engine)
{
	engine_want_mapping(engine);
	engine_stir(engine);
}

/* Tasks. */

uint32_t engine_tasks_count(const struct engine *engine)
{
	return engine->setup.workload->tasks_count;
}

const struct engine_task *engine_task_at(const struct engine *engine, uint32_t task)
{
	return &engine->tasks[task];
}

/* All of a submitted task but its number and its arrival. */
static json_t *describe_submission(const struct sched_task *task, bool held)
{
	json_t *segments = json_array();

	for (uint32_t i = 0; i < task->utility.segments_count; i++) {
		const struct utility_segment *one = &task->utility.segments[i];

		json_array_append_new(segments, json_pack("[i, f, f, f, f]", (int)one->curve,
							  one->duration_s, one->start_fraction,
							  one->end_fraction, one->rate_per_s));
	}
	return json_pack("{s:I, s:f, s:o, s:b, s:b, s:o, s:i, s:b}", "row", (json_int_t)task->row,
			 "max", task->utility.max, "segments", segments, "may_preempt",
			 (int)task->may_preempt, "preemptible", (int)task->preemptible,
			 "deadline_s", json_number_or_null(task->deadline_s), "priority",
			 (int)task->priority, "held", (int)held);
}

uint32_t engine_submit(struct engine *engine, const struct sched_task *task, bool held)
{
	g_auto(engine_noting) noting =
		engine_note(engine, ENGINE_INPUT_SUBMIT,
			    engine_notes(engine) ? describe_submission(task, held) : NULL);
	struct workload *open = engine->setup.open;
	const double time_s = now_s(engine);
	struct sched_task *made;
	uint32_t index;

	if (engine->ended || !open || open->tasks_count >= open->tasks_max)
		return UINT32_MAX;
	index = open->tasks_count++;
	made = &open->tasks[index];
	*made = *task;
	made->id = index;
	made->arrival_s = index > 0 ? fmax(time_s, made[-1].arrival_s) : time_s;
	engine_init_task(engine, index);
	if (held)
		engine_move_request(engine, index, REQUEST_HOLD);
	engine_arrive(engine, made->arrival_s);
	ask_policy(engine);
	return index;
}

/*
 * Cancels the reservation, place-holder or claim of a waiting task: it is WAITING, and not
 * mappable.
 */
static void cancel_plans(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	task->promised_s = INFINITY;
	if (task->state == ENGINE_TASK_CLAIMED) {
		engine_unclaim(engine, index);
	} else if (task->state == ENGINE_TASK_PLANNED) {
		engine_remove_planned(engine, index);
		engine_cancel_planned(engine, index);
	}
	engine_dequeue_waiting(engine, index);
}

/* Cancels a task that the backend does not know, or has in a queue. */
static void cancel_waiting(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	const enum engine_task_state former = task->state;
	const bool queued = former == ENGINE_TASK_QUEUED;

	if (task->request == REQUEST_HELD)
		engine_unpark(engine);
	else if (!queued && former != ENGINE_TASK_QUARANTINED)
		cancel_plans(engine, index);
	engine_move_request(engine, index, REQUEST_CANCEL);
	engine_move_task(engine, index, ENGINE_TASK_KILL);
	task->ended_s = now_s(engine);
	task->reason = "a user cancelled it";
	engine_count_failed(engine);
	engine->placement->task_ended(engine, index, former);
	if (task->attempts > 0)
		engine_take_energy(engine, index, task->energy_j);
	engine_record_task(engine, index);
	engine_record_end(engine, index);
	engine_flush(engine);
	if (queued && backend_keeps_queues(engine->backend) && !engine->ended)
		backend_kill(engine->backend, index, task->attempts);
	ask_policy(engine);
}

/* Whether a task is on nodes, or suspended from them. */
static bool is_under_way(const struct engine_task *task)
{
	return engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY);
}

static void cancel_under_way(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (engine_move_request(engine, index, REQUEST_CANCEL)) {
		engine_record_request(engine, ENGINE_EVENT_CANCEL, index);
		engine_set_preemptible(engine, index);
	}
	if (engine_task_state_in(task->state,
				 ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED))
		/* It must not resume before the backend has killed it. */
		engine_hold_suspended(engine, index);
	engine_flush(engine);
	if (!engine->ended)
		backend_kill(engine->backend, index, task->attempts);
}

enum engine_refusal engine_request_cancel(struct engine *engine, uint32_t index)
{
	g_auto(engine_noting) noting = engine_note_task(engine, ENGINE_INPUT_CANCEL, index);
	const enum engine_refusal refusal =
		engine_check_request(engine, ENGINE_REQUEST_CANCEL, index);

	if (refusal)
		return refusal;
	if (is_under_way(&engine->tasks[index])) {
		cancel_under_way(engine, index);
	} else {
		engine_record_request(engine, ENGINE_EVENT_CANCEL, index);
		cancel_waiting(engine, index);
	}
	return ENGINE_REFUSAL_NONE;
}

/* Holds a waiting task, so that it is not mappable. False: it is held already. */
static bool hold_waiting(struct engine *engine, uint32_t index)
{
	if (!engine_move_request(engine, index, REQUEST_HOLD))
		return false;
	cancel_plans(engine, index);
	engine_park(engine);
	return true;
}

enum engine_refusal engine_request_hold(struct engine *engine, uint32_t index)
{
	g_auto(engine_noting) noting = engine_note_task(engine, ENGINE_INPUT_HOLD, index);
	const enum engine_refusal refusal =
		engine_check_request(engine, ENGINE_REQUEST_HOLD, index);

	if (refusal)
		return refusal;
	if (!hold_waiting(engine, index))
		return ENGINE_REFUSAL_NONE;
	engine_record_request(engine, ENGINE_EVENT_HELD, index);
	engine_record_task(engine, index);
	engine_flush(engine);
	ask_policy(engine); /* others may get the nodes that were reserved for it */
	return ENGINE_REFUSAL_NONE;
}

/*
 * Releases a quarantined task: it waits, with the number of attempts that is known, whatever became
 * of it before.
 */
static enum engine_refusal release_quarantined(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (task->task->row >= engine->setup.system->rows_count)
		return ENGINE_REFUSAL_NO_TYPE;
	engine_move_task(engine, index, ENGINE_TASK_RELEASE);
	task->reason = NULL;
	engine_enqueue_waiting(engine, index);
	engine_record_request(engine, ENGINE_EVENT_RELEASED, index);
	engine_record_task(engine, index);
	engine_flush(engine);
	ask_policy(engine);
	return ENGINE_REFUSAL_NONE;
}

enum engine_refusal engine_request_release(struct engine *engine, uint32_t index)
{
	g_auto(engine_noting) noting = engine_note_task(engine, ENGINE_INPUT_FREE, index);
	const enum engine_refusal refusal =
		engine_check_request(engine, ENGINE_REQUEST_RELEASE, index);

	if (refusal)
		return refusal;
	if (engine->tasks[index].state == ENGINE_TASK_QUARANTINED)
		return release_quarantined(engine, index);
	if (!engine_move_request(engine, index, REQUEST_RELEASE))
		return ENGINE_REFUSAL_NOT_HELD;
	engine_unpark(engine);
	engine_enqueue_waiting(engine, index);
	engine_record_request(engine, ENGINE_EVENT_RELEASED, index);
	engine_flush(engine);
	ask_policy(engine);
	return ENGINE_REFUSAL_NONE;
}

bool engine_restore_held(struct engine *engine, uint32_t index)
{
	if (index >= engine_tasks_count(engine))
		return false;
	if (engine->tasks[index].state == ENGINE_TASK_COMING)
		engine_move_request(engine, index, REQUEST_HOLD); /* as it was submitted */
	else if (engine->tasks[index].state == ENGINE_TASK_WAITING ||
		 engine->tasks[index].state == ENGINE_TASK_PLANNED)
		hold_waiting(engine, index);
	return true;
}

bool engine_restore_cancelled(struct engine *engine, uint32_t index)
{
	if (index >= engine_tasks_count(engine))
		return false;
	if (engine->tasks[index].state == ENGINE_TASK_WAITING) {
		cancel_waiting(engine, index); /* it was killed when the interrupted run was left */
	} else if (is_under_way(&engine->tasks[index])) {
		engine_move_request(engine, index, REQUEST_CANCEL);
		engine_set_preemptible(engine, index);
	}
	return true;
}

/* Nodes. */

static bool is_node(const struct engine *engine, uint32_t cluster, uint32_t node)
{
	return cluster < engine->setup.system->clusters_count &&
	       node < engine->setup.system->clusters[cluster].nodes;
}

/* A node, as the detail of an input. */
static json_t *describe_node(uint32_t cluster, uint32_t node, const char *reason)
{
	return json_pack("{s:I, s:I, s:o*}", "cluster", (json_int_t)cluster, "node",
			 (json_int_t)node, "reason", json_string(reason));
}

enum engine_refusal engine_request_drain(struct engine *engine, uint32_t cluster, uint32_t node,
					 const char *reason)
{
	g_auto(engine_noting) noting =
		engine_note(engine, ENGINE_INPUT_DRAIN, describe_node(cluster, node, reason));
	const struct sched_node place = {cluster, node};

	if (engine->ended)
		return ENGINE_REFUSAL_RUN_ENDED;
	if (!is_node(engine, cluster, node))
		return ENGINE_REFUSAL_NO_NODE;
	if (engine_drained(engine, cluster, node) &&
	    (!reason || g_strcmp0(reason, engine_node_at(engine, cluster, node).reason) == 0))
		return ENGINE_REFUSAL_NONE;
	engine_change_node(engine, &place, NODE_DRAIN, reason, engine_asker(engine), now_s(engine));
	engine_flush(engine);
	ask_policy(engine);
	return ENGINE_REFUSAL_NONE;
}

enum engine_refusal engine_request_undrain(struct engine *engine, uint32_t cluster, uint32_t node)
{
	g_auto(engine_noting) noting =
		engine_note(engine, ENGINE_INPUT_UNDRAIN, describe_node(cluster, node, NULL));
	const struct sched_node place = {cluster, node};

	if (engine->ended)
		return ENGINE_REFUSAL_RUN_ENDED;
	if (!is_node(engine, cluster, node))
		return ENGINE_REFUSAL_NO_NODE;
	if (!engine_change_node(engine, &place, NODE_UNDRAIN, NULL, engine_asker(engine),
				now_s(engine)))
		return ENGINE_REFUSAL_NONE;
	engine_flush(engine);
	engine_retry_late(engine, now_s(engine));
	engine_resume_wanted(engine);
	engine->placement->start_next(engine);
	ask_policy(engine);
	return ENGINE_REFUSAL_NONE;
}

void engine_request_policy(struct engine *engine, const struct policy *policy,
			   double mapping_interval_s)
{
	g_auto(engine_noting) noting = engine_note(engine, ENGINE_INPUT_POLICY,
						   json_pack("{s:s, s:f}", "policy", policy->name,
							     "interval_s", mapping_interval_s));

	engine->setup.policy = *policy;
	if (engine->setup.mapping_interval_s != mapping_interval_s) {
		engine->setup.mapping_interval_s = mapping_interval_s;
		engine_set_next_event(engine,
				      (uint64_t)floor(now_s(engine) / mapping_interval_s) + 1);
	}
	ask_policy(engine);
}

bool engine_restore_drained(struct engine *engine, uint32_t cluster, uint32_t node,
			    const char *reason)
{
	if (!is_node(engine, cluster, node))
		return false;
	engine_redrain_node(engine, &(struct sched_node){cluster, node}, reason, now_s(engine));
	return true;
}

/* Why a task waits. */

static const char *why_waiting(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const char *nodes;

	if (task->request == REQUEST_HELD)
		return "a user holds it";
	if (!engine->placement->fits(engine, index))
		return "fits nowhere while nodes are down or drained";
	if (engine_window_because(engine, index, engine->because, ENGINE_BECAUSE_SIZE))
		return engine->because;
	nodes = engine->placement->waits_because(engine, index);
	if (nodes)
		return nodes;
	if (!engine_has_considered(engine, task->task->arrival_s))
		return "the next mapping event decides";
	if (engine_is_deciding(engine))
		return "the policy is deciding";
	return "passed over by the policy: others go first, or it is not worth its energy";
}

static const char *why_planned(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const double left_s = task->planned_start_s - now_s(engine);

	if (engine_window_because(engine, index, engine->because, ENGINE_BECAUSE_SIZE))
		return engine->because;
	if (task->state == ENGINE_TASK_CLAIMED)
		return "other tasks still have to leave its nodes";
	if (left_s <= 0)
		return "its nodes are reserved, but not free yet";
	g_snprintf(engine->because, ENGINE_BECAUSE_SIZE,
		   task->reservation ? "its nodes are reserved from %.0f s from now on"
				     : "its nodes are held for it from %.0f s from now on, unless "
				       "the next mapping event decides otherwise",
		   left_s);
	return engine->because;
}

const char *engine_waits_because(const struct engine *engine, uint32_t index)
{
	if (index >= engine_tasks_count(engine))
		return NULL;
	switch (engine->tasks[index].state) {
	case ENGINE_TASK_COMING:
		return "it has not arrived yet";
	case ENGINE_TASK_WAITING:
		return why_waiting(engine, index);
	case ENGINE_TASK_PLANNED:
	case ENGINE_TASK_CLAIMED:
		return why_planned(engine, index);
	case ENGINE_TASK_QUEUED:
		return "it is in the queue of a cluster";
	case ENGINE_TASK_QUARANTINED:
		return "its record cannot be used: release it to start it again, or cancel it";
	case ENGINE_TASK_SUSPENDED:
	case ENGINE_TASK_SUSPENDED_CLAIMED:
		if (engine->tasks[index].request == REQUEST_CANCELLED)
			return NULL;
		if (engine_is_held(engine, index) && !engine_window_suspended(engine, index))
			return "a user suspended it";
		if (engine_window_because(engine, index, engine->because, ENGINE_BECAUSE_SIZE))
			return engine->because;
		if (engine_has_claim(engine, index))
			return "other tasks still have to leave its nodes";
		return engine_is_wanted(engine, index)
			       ? "it resumes as soon as its cluster has idle nodes"
			       : "it was suspended for other tasks";
	default:
		return NULL;
	}
}
