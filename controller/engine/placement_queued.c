/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clusters with queues (Gentry 2019): a cluster executes one task at a time on all of its nodes. A
 * task that a plan enqueued stays in the queue until it starts, or until a plan drops it. A
 * simulated cluster starts the next task when the one before it is gone and the mapping event at
 * that instant is over. A real cluster keeps its queue itself, starts the next task at once, and
 * reports it (BEGAN).
 */
#include <math.h>

#include "controller/engine/cluster_queue.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/nodes.h"
#include "controller/engine/own_nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/sched/queueing.h"

struct placement {
	struct cluster_queue *queues; /* per cluster */
	struct sched_queue *views;    /* `queues` as the snapshot has them */
	uint32_t last_n;              /* number of tasks queued since the run began */
	struct sched_pruner pruner;   /* state of pruning after the last mapping event */
	uint32_t missed;              /* tasks that completed late since the last mapping event */
	double *sufferage;            /* per row */
	struct queueing_memory *memory;
	uint32_t queued_count; /* tasks in queues, executing ones included */
};

static void init(struct engine *engine)
{
	const struct sched_system *system = engine->setup.system;
	const uint32_t count = system->clusters_count;
	struct placement *state = g_new0(struct placement, 1);

	state->queues = g_new0(struct cluster_queue, count);
	state->views = g_new0(struct sched_queue, count);
	state->sufferage = g_new0(double, system->rows_count);
	for (uint32_t c = 0; c < count; c++)
		cluster_queue_init(&state->queues[c], system->queueing->length);
	state->memory = queueing_memory_new();
	if (!state->memory)
		g_error("out of memory");
	engine->placement_state = state;
}

static void finish(struct engine *engine)
{
	struct placement *state = engine->placement_state;

	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++)
		cluster_queue_finish(&state->queues[c]);
	g_free(state->queues);
	g_free(state->views);
	g_free(state->sufferage);
	queueing_memory_free(state->memory);
	g_free(state);
}

static struct queueing_memory *policy_memory(const struct engine *engine)
{
	return engine->placement_state->memory;
}

static bool has_queued(const struct engine *engine)
{
	return engine->placement_state->queued_count > 0;
}

static struct cluster_queue *queue_of(const struct engine *engine, uint32_t cluster)
{
	return &engine->placement_state->queues[cluster];
}

/* Whether the queue of a cluster takes no more tasks. */
static bool is_full(const struct engine *engine, uint32_t cluster)
{
	return queue_of(engine, cluster)->count >= engine->setup.system->queueing->length;
}

/* Entering and leaving a queue. */

/* Appends a waiting task to the queue of a cluster. */
static void enqueue(struct engine *engine, uint32_t index, uint32_t cluster)
{
	const struct engine_task *task = &engine->tasks[index];
	const struct sched_option *option =
		sched_system_option(engine->setup.system, task->task->row, cluster, 0);
	struct cluster_queue *queue = queue_of(engine, cluster);
	g_autofree uint32_t *nodes = g_new(uint32_t, option->nodes);

	for (uint32_t i = 0; i < option->nodes; i++)
		nodes[i] = i;
	engine_dequeue_waiting(engine, index);
	engine_set_place(engine, index, cluster, 0, nodes, option->nodes);
	engine_move_task(engine, index, ENGINE_TASK_ENQUEUE);
	engine->tasks[index].queued_n = ++engine->placement_state->last_n;
	/* It may begin at any time: this is an attempt. */
	if (backend_keeps_queues(engine->backend))
		engine->tasks[index].attempts++;
	cluster_queue_insert(queue, queue->count, task->task);
	engine->placement_state->queued_count++;
}

/* Sends a queued task to the backend, if clusters keep their queues themselves. */
static void launch_queued(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const struct sched_allocation placed = engine_task_allocation(task);

	if (task->state == ENGINE_TASK_QUEUED && backend_keeps_queues(engine->backend))
		backend_enqueue(engine->backend, &placed, task->attempts, task->task->deadline_s);
}

/* Removes a task from its queue, if it is in one. */
static void dequeue(struct engine *engine, uint32_t index)
{
	if (cluster_queue_remove(queue_of(engine, engine->tasks[index].cluster), index))
		engine->placement_state->queued_count--;
}

/* Evicts an executing task from its cluster: the nodes are free once the backend reports it. */
static void evict(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	own_nodes_free(engine, index, task->nodes);
	own_nodes_set_departing(engine, index, task->cluster, task->nodes, task->nodes_count, true);
	running_list_remove(&engine->running, index);
	task->exec_s = backend_now_s(engine->backend) - task->since_s;
}

static void start_next(struct engine *engine)
{
	if (backend_keeps_queues(engine->backend))
		return;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		struct cluster_queue *queue = queue_of(engine, c);
		uint32_t index;

		if (engine->ended || queue->count == 0 || queue->executes)
			continue;
		index = queue->tasks[0]->id;
		if (!engine_place_free(engine, index))
			continue;
		cluster_queue_execute(queue, index, backend_now_s(engine->backend));
		engine_begin(engine, index);
		engine_record_task(engine, index);
		engine_flush(engine);
		engine_launch(engine, index);
	}
}

/* Events of the backend. */

/* The task of an event about its present attempt, if it is in this state; else NULL. */
static struct engine_task *find_attempt(struct engine *engine, const struct backend_event *event,
					enum engine_task_state state)
{
	struct engine_task *task;

	if (event->task >= engine->setup.workload->tasks_count)
		return NULL;
	task = &engine->tasks[event->task];
	return task->state == state && task->attempts == event->attempt ? task : NULL;
}

/* Whether the event is the end of an evicted task. If so, its nodes are free now. */
static bool handle_evicted(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = find_attempt(engine, event, ENGINE_TASK_DROPPED);
	bool left = false;

	if (!task)
		return false;
	for (uint32_t i = 0; i < task->nodes_count; i++) {
		const uint32_t node = task->nodes[i];

		if (engine_node_leaver(engine, task->cluster, node) != event->task)
			continue;
		left = true;
		engine_set_node_leaver(engine, task->cluster, node, ENGINE_NO_TASK);
	}
	if (left) {
		engine_take_energy(engine, event->task,
				   isfinite(event->energy_j) ? event->energy_j : task->energy_j);
		engine_record_task(engine, event->task);
	}
	start_next(engine);
	return true;
}

/* Handles the backend's BEGAN event, or STARTED if BEGAN was lost. */
static void handle_began(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = find_attempt(engine, event, ENGINE_TASK_QUEUED);
	struct cluster_queue *queue;

	if (!task)
		return;
	queue = queue_of(engine, task->cluster);
	/* The former task has ended, which is reported later; policies must not see it queued. */
	if (queue->executes)
		dequeue(engine, queue->tasks[0]->id);
	cluster_queue_execute(queue, event->task, event->time_s);
	engine_begin_queued(engine, event->task, event->time_s);
	engine_record_task(engine, event->task);
}

static bool handle_event(struct engine *engine, const struct backend_event *event)
{
	if (event->kind == BACKEND_EVENT_ENDED)
		return handle_evicted(engine, event);
	if (event->kind == BACKEND_EVENT_BEGAN || event->kind == BACKEND_EVENT_STARTED)
		handle_began(engine, event);
	return event->kind == BACKEND_EVENT_BEGAN;
}

/* Deadlines. */

bool engine_on_time(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const double tolerance_s = QUEUEING_TOLERANCE * engine->setup.system->queueing->bin_s;

	return task->state == ENGINE_TASK_COMPLETED &&
	       task->ended_s <= task->task->deadline_s + tolerance_s;
}

/* Updates the sufferage of the type of a task that has ended (Gentry 2019, V.D.2). */
static void note_deadline(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const bool on_time = engine_on_time(engine, index);
	const double fairness = engine->setup.system->queueing->pruning.fairness;
	double *sufferage = &engine->placement_state->sufferage[task->task->row];

	*sufferage = fmin(1, fmax(0, *sufferage + (on_time ? -fairness : fairness)));
	if (task->state == ENGINE_TASK_COMPLETED && !on_time)
		engine->placement_state->missed++;
}

static void task_ended(struct engine *engine, uint32_t index, enum engine_task_state former)
{
	const enum engine_task_state state = engine->tasks[index].state;

	if (state == ENGINE_TASK_DROPPED && engine_task_state_in(former, ENGINE_TASK_ON_NODES))
		evict(engine, index);
	if (former != ENGINE_TASK_WAITING)
		dequeue(engine, index);
	if (state != ENGINE_TASK_WAITING)
		note_deadline(engine, index);
}

/* Decisions. */

/* Tasks wait for a policy to enqueue them, whether nodes are idle or not. */
static const char *waits_because(const struct engine *engine, uint32_t index)
{
	return NULL;
}

/* At every event: it counts for the oversubscription level. */
static bool has_to_decide(const struct engine *engine)
{
	return true;
}

/*
 * Clusters that keep their queues skip tasks whose deadlines have passed. Returns the next deadline
 * of such a task on an idle cluster: a mapping event has to drop it.
 */
static double next_stuck_s(const struct engine *engine, double after_s)
{
	double next_s = INFINITY;

	if (!backend_keeps_queues(engine->backend))
		return next_s;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		const struct cluster_queue *queue = queue_of(engine, c);

		for (uint32_t i = 0; !queue->executes && i < queue->count; i++)
			if (queue->tasks[i]->deadline_s > after_s)
				next_s = fmin(next_s, queue->tasks[i]->deadline_s);
	}
	return next_s;
}

/*
 * The first deadline after `after_s` of a task that executes, if the policy evicts such tasks; of a
 * task that waits while all clusters are idle; or of a task queued on an idle cluster that keeps
 * its queue itself.
 */
static double next_deadline_s(const struct engine *engine, double after_s)
{
	double next_s = INFINITY;
	uint32_t listed;
	const uint32_t *waiting = engine_waiting_listed(engine, &listed);

	/* Deferred tasks may have no other event before their deadlines. */
	for (uint32_t i = 0; engine->placement_state->queued_count == 0 && i < listed; i++) {
		const struct engine_task *task = &engine->tasks[waiting[i]];

		if (task->state == ENGINE_TASK_WAITING && task->task->deadline_s > after_s)
			next_s = fmin(next_s, task->task->deadline_s);
	}
	next_s = fmin(next_s, next_stuck_s(engine, after_s));
	if (!queueing_evicts(&engine->setup.policy, engine->setup.system))
		return next_s;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		const struct cluster_queue *queue = queue_of(engine, c);

		if (queue->executes && queue->tasks[0]->deadline_s > after_s)
			next_s = fmin(next_s, queue->tasks[0]->deadline_s);
	}
	return next_s;
}

static void fill_snapshot(struct engine *engine, struct sched_snapshot *snapshot)
{
	const struct placement *state = engine->placement_state;

	own_nodes_fill_snapshot(engine, snapshot);
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++)
		state->views[c] = (struct sched_queue){
			.count = state->queues[c].count,
			.tasks = state->queues[c].tasks,
			.executes = state->queues[c].executes,
			.start_s = fmin(state->queues[c].start_s, snapshot->now_s),
		};
	snapshot->queues = state->views;
	snapshot->pruner = state->pruner;
	snapshot->missed = state->missed;
	snapshot->sufferage = state->sufferage;
}

/* Takes over and records the state of pruning. */
static void note_decision(struct engine *engine, const struct sched_plan *plan,
			  const struct sched_snapshot *snapshot)
{
	struct placement *state = engine->placement_state;
	const struct sched_pruner *pruner = &plan->pruner;

	/* More may have missed theirs while it was decided. */
	state->missed -= snapshot->missed;
	if (state->pruner.level == pruner->level && state->pruner.dropping == pruner->dropping)
		return;
	state->pruner = *pruner;
	engine_record_pruner(engine, pruner, snapshot->now_s);
}

/* Plans. */

/* NULL if the action's queue can take its task, else why not. */
static const char *check_enqueue(const struct engine *engine, const struct sched_action *action)
{
	const struct sched_system *system = engine->setup.system;
	const char *problem = engine_validate_mappable(engine, action->task);

	if (problem)
		return problem;
	if (action->cluster >= system->clusters_count)
		return "there is no such cluster";
	if (!sched_system_option(system, engine->known[action->task].row, action->cluster, 0))
		return "it cannot run there";
	if (is_full(engine, action->cluster))
		return "the queue is full";
	return NULL;
}

static const char *check_action(const struct engine *engine, const struct sched_action *action)
{
	const enum engine_task_state state = engine->tasks[action->task].state;

	if (action->kind == SCHED_ACTION_ENQUEUE)
		return check_enqueue(engine, action);
	/* An executing task can be dropped as well: it is evicted. */
	if (action->kind == SCHED_ACTION_DROP &&
	    engine_task_state_in(state,
				 ENGINE_TASK_ANY_STARTING | ENGINE_TASK_SET(ENGINE_TASK_RUNNING)))
		return NULL;
	return engine_validate_on_own_nodes(engine, action);
}

static void prepare_action(struct engine *engine, const struct sched_action *action)
{
	engine->tasks[action->task].chance = action->chance;
	engine->tasks[action->task].threshold = action->threshold;
	if (action->kind == SCHED_ACTION_ENQUEUE)
		enqueue(engine, action->task, action->cluster);
	else
		engine_prepare_action(engine, action);
}

static void launch_action(struct engine *engine, const struct sched_action *action)
{
	if (action->kind == SCHED_ACTION_ENQUEUE)
		launch_queued(engine, action->task);
	else
		engine_launch_action(engine, action);
}

/* The end of a run, and interrupted runs. */

static void kill_queued(struct engine *engine)
{
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		const struct cluster_queue *queue = queue_of(engine, c);

		for (uint32_t i = queue->executes; i < queue->count; i++)
			backend_kill(engine->backend, queue->tasks[i]->id,
				     engine->tasks[queue->tasks[i]->id].attempts);
	}
}

/*
 * An executing task goes to the head of its queue. Its nodes need not be free: the task before it
 * may have ended, which was not reported yet.
 */
static bool restore_place(struct engine *engine, uint32_t index, const struct engine_task *record)
{
	const bool executes = record->state != ENGINE_TASK_QUEUED;
	struct cluster_queue *queue;
	uint32_t at;

	if (record->nodes_count == 0 || record->queued_n == 0 || is_full(engine, record->cluster))
		return false;
	queue = queue_of(engine, record->cluster);
	at = executes ? 0 : queue->count;
	while (!executes && at > 0 && (at > 1 || !queue->executes) &&
	       engine->tasks[queue->tasks[at - 1]->id].queued_n > record->queued_n)
		at--;
	cluster_queue_insert(queue, at, engine->tasks[index].task);
	engine->placement_state->queued_count++;
	if (executes)
		cluster_queue_execute(queue, index, record->started_s);
	engine->placement_state->last_n = MAX(engine->placement_state->last_n, record->queued_n);
	engine_want_mapping(engine);
	return true;
}

static int by_end(const void *left, const void *right, void *data)
{
	const struct engine *engine = data;
	const double a_s = engine->tasks[*(const uint32_t *)left].ended_s;
	const double b_s = engine->tasks[*(const uint32_t *)right].ended_s;

	return (a_s > b_s) - (a_s < b_s);
}

static void restore_pruner(struct engine *engine, const struct sched_pruner *pruner)
{
	g_autoptr(GArray) ended = g_array_new(FALSE, FALSE, sizeof(uint32_t));

	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++)
		if (engine_task_over(&engine->tasks[i]))
			g_array_append_val(ended, i);
	g_array_sort_with_data(ended, by_end, engine);
	for (guint i = 0; i < ended->len; i++)
		note_deadline(engine, g_array_index(ended, uint32_t, i));
	/* Tasks that missed their deadlines since the last event are not recorded. */
	engine->placement_state->missed = 0;
	engine->placement_state->pruner = *pruner;
	engine_want_mapping(engine);
}

static void resend_queues(struct engine *engine)
{
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++)
		for (uint32_t i = 0; i < queue_of(engine, c)->count; i++)
			launch_queued(engine, queue_of(engine, c)->tasks[i]->id);
}

const struct placement_ops placement_queued = {
	.name = "queued",
	.decides_apart = true,
	.records_repeats = true,
	.restorable = true,
	.suspend_refusal = ENGINE_REFUSAL_QUEUE_SUSPEND,
	.migrate_refusal = ENGINE_REFUSAL_QUEUE_MIGRATE,
	.init = init,
	.finish = finish,
	.width = own_nodes_width,
	.estimate = own_nodes_estimate,
	.allocate = own_nodes_allocate,
	.free = own_nodes_free,
	.set_departing = own_nodes_set_departing,
	.count_waits = own_nodes_count_waits,
	.find_claimant = own_nodes_find_claimant,
	.find_due_claims = own_nodes_find_due_claims,
	.fits = own_nodes_fits,
	.waits_because = waits_because,
	.takes_vm = own_nodes_takes_vm,
	.find_full_node = own_nodes_find_full_node,
	.order_nodes = engine_sort_nodes,
	.find_left = own_nodes_find_left,
	.note_migration = own_nodes_note_migration,
	.begin_interval = placement_without_progress,
	.end_interval = placement_without_progress,
	.send_share = placement_without_share,
	.policy_memory = policy_memory,
	.has_to_decide = has_to_decide,
	.next_s = next_deadline_s,
	.fill_snapshot = fill_snapshot,
	.note_decision = note_decision,
	.check_action = check_action,
	.prepare_action = prepare_action,
	.launch_action = launch_action,
	.check_plan = placement_without_limit,
	.has_queued = has_queued,
	.start_next = start_next,
	.handle_event = handle_event,
	.task_ended = task_ended,
	.kill_queued = kill_queued,
	.restore_place = restore_place,
	.restore_pruner = restore_pruner,
	.resend_queues = resend_queues,
};
