/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clusters with queues (Gentry 2019): a cluster executes one task at a time on all of its nodes. A
 * task that a plan enqueued stays in the queue until it starts, or until a plan drops it. A
 * simulated cluster starts the next task when the one before it is gone and the mapping event at
 * that instant is over. A real cluster keeps its queue itself, starts the next task at once, and
 * reports it (BEGAN).
 */
#include <math.h>
#include <string.h>

#include "controller/engine/queues.h"
#include "controller/engine/state.h"
#include "controller/sched/queueing.h"

/* The queue of a queueing cluster. */
struct engine_queue {
	uint32_t count;
	const struct sched_task **tasks; /* room for the longest queue that the cluster allows */
	bool executes;                   /* the first task was started, at start_s */
	double start_s;
};

/* The queues of all clusters, and what pruning remembers. */
struct cluster_queues {
	struct engine_queue *of;    /* per cluster */
	struct sched_queue *views;  /* `of` as the snapshot has them */
	uint32_t count;             /* tasks in queues, executing ones included */
	uint32_t last_n;            /* number of tasks queued since the run began */
	struct sched_pruner pruner; /* state of pruning after the last mapping event */
	uint32_t missed;            /* tasks that completed late since the last mapping event */
	double *sufferage;          /* per row */
	struct queueing_memory *memory;
};

void engine_queues_init(struct engine *engine)
{
	const struct sched_system *system = engine->setup.system;
	const uint32_t count = system->clusters_count;

	if (!system->queueing)
		return;
	engine->cluster_queues = g_new0(struct cluster_queues, 1);
	engine->cluster_queues->of = g_new0(struct engine_queue, count);
	engine->cluster_queues->views = g_new0(struct sched_queue, count);
	engine->cluster_queues->sufferage = g_new0(double, system->rows_count);
	engine->cluster_queues->memory = queueing_memory_new();
	if (!engine->cluster_queues->memory)
		g_error("out of memory");
	for (uint32_t c = 0; c < count; c++)
		engine->cluster_queues->of[c].tasks =
			g_new(const struct sched_task *, system->queueing->length);
}

void engine_queues_finish(struct engine *engine)
{
	if (!engine->cluster_queues)
		return;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++)
		g_free(engine->cluster_queues->of[c].tasks);
	g_free(engine->cluster_queues->of);
	g_free(engine->cluster_queues->views);
	g_free(engine->cluster_queues->sufferage);
	queueing_memory_free(engine->cluster_queues->memory);
	g_free(engine->cluster_queues);
}

bool engine_has_queues(const struct engine *engine)
{
	return engine->cluster_queues;
}

uint32_t engine_queued_count(const struct engine *engine)
{
	return engine->cluster_queues ? engine->cluster_queues->count : 0;
}

bool engine_queue_is_full(const struct engine *engine, uint32_t cluster)
{
	return engine->cluster_queues->of[cluster].count >= engine->setup.system->queueing->length;
}

struct queueing_memory *engine_queues_memory(struct engine *engine)
{
	return engine->cluster_queues ? engine->cluster_queues->memory : NULL;
}

const char *engine_check_enqueue(const struct engine *engine, const struct sched_action *action)
{
	const struct sched_system *system = engine->setup.system;

	if (!engine->cluster_queues)
		return "the clusters have no queues";
	if (action->cluster >= system->clusters_count)
		return "there is no such cluster";
	if (!sched_system_option(system, engine->known[action->task].row, action->cluster, 0))
		return "it cannot run there";
	if (engine_queue_is_full(engine, action->cluster))
		return "the queue is full";
	return NULL;
}

void engine_enqueue(struct engine *engine, uint32_t index, uint32_t cluster)
{
	const struct sched_system *system = engine->setup.system;
	const struct engine_task *task = &engine->tasks[index];
	const struct sched_option *option =
		sched_system_option(system, task->task->row, cluster, 0);
	struct engine_queue *queue = &engine->cluster_queues->of[cluster];
	g_autofree uint32_t *nodes = g_new(uint32_t, option->nodes);

	for (uint32_t i = 0; i < option->nodes; i++)
		nodes[i] = i;
	engine_dequeue_waiting(engine, index);
	engine_set_place(engine, index, cluster, 0, nodes, option->nodes);
	engine_move_task(engine, index, ENGINE_TASK_ENQUEUE);
	engine->tasks[index].queued_n = ++engine->cluster_queues->last_n;
	/* It may begin at any time: this is an attempt. */
	if (backend_keeps_queues(engine->backend))
		engine->tasks[index].attempts++;
	queue->tasks[queue->count++] = task->task;
	engine->cluster_queues->count++;
}

void engine_launch_queued(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	struct backend_start start = engine_task_start(task);

	start.start_before_s = task->task->deadline_s;
	if (task->state == ENGINE_TASK_QUEUED && backend_keeps_queues(engine->backend))
		backend_enqueue(engine->backend, &start);
}

void engine_dequeue(struct engine *engine, uint32_t index)
{
	struct engine_queue *queue = &engine->cluster_queues->of[engine->tasks[index].cluster];
	uint32_t at = 0;

	while (at < queue->count && queue->tasks[at]->id != index)
		at++;
	if (at == queue->count)
		return;
	queue->count--;
	engine->cluster_queues->count--;
	memmove(queue->tasks + at, queue->tasks + at + 1,
		(queue->count - at) * sizeof(*queue->tasks));
	if (at == 0)
		queue->executes = false;
}

void engine_evict(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	engine_free_nodes(engine, index, task->nodes);
	engine_set_departing(engine, index, task->cluster, task->nodes, task->nodes_count, true);
	running_list_remove(&engine->running, index);
	task->exec_s = backend_now_s(engine->backend) - task->since_s;
}

bool engine_handle_evicted(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = event->task < engine->setup.workload->tasks_count
					   ? &engine->tasks[event->task]
					   : NULL;
	bool left = false;

	if (!engine->cluster_queues || !task || task->state != ENGINE_TASK_DROPPED ||
	    task->attempts != event->attempt)
		return false;
	engine->tallied = false;
	for (uint32_t i = 0; i < task->nodes_count; i++) {
		uint32_t *leaver = &engine->departing[task->cluster][task->nodes[i]];

		left |= *leaver == event->task;
		if (*leaver == event->task)
			*leaver = ENGINE_NO_TASK;
	}
	if (left && isfinite(event->energy_j)) {
		engine_take_energy(engine, event->task, event->energy_j);
		engine_record_task(engine, event->task);
	}
	engine_start_queues(engine);
	return true;
}

static void move_to_head(struct engine_queue *queue, uint32_t index)
{
	const struct sched_task *task;
	uint32_t at = 0;

	while (at < queue->count && queue->tasks[at]->id != index)
		at++;
	if (at == 0 || at == queue->count)
		return;
	task = queue->tasks[at];
	memmove(queue->tasks + 1, queue->tasks, at * sizeof(*queue->tasks));
	queue->tasks[0] = task;
}

void engine_handle_began(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = event->task < engine->setup.workload->tasks_count
					   ? &engine->tasks[event->task]
					   : NULL;
	struct engine_queue *queue;

	if (!engine->cluster_queues || !task || task->state != ENGINE_TASK_QUEUED ||
	    task->attempts != event->attempt)
		return;
	queue = &engine->cluster_queues->of[task->cluster];
	/*
	 * The former task has ended, which is reported later; the policy must not see it in the
	 * queue.
	 */
	if (queue->executes)
		engine_dequeue(engine, queue->tasks[0]->id);
	move_to_head(queue, event->task);
	queue->executes = true;
	queue->start_s = event->time_s;
	engine_begin_queued(engine, event->task, event->time_s);
	engine_record_task(engine, event->task);
}

void engine_requeue(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	struct engine_queue *queue = &engine->cluster_queues->of[task->cluster];
	const bool executes = task->state != ENGINE_TASK_QUEUED;
	uint32_t at = executes ? 0 : queue->count;

	while (!executes && at > 0 && (at > 1 || !queue->executes) &&
	       engine->tasks[queue->tasks[at - 1]->id].queued_n > task->queued_n)
		at--;
	memmove(queue->tasks + at + 1, queue->tasks + at,
		(queue->count - at) * sizeof(*queue->tasks));
	queue->tasks[at] = task->task;
	queue->count++;
	engine->cluster_queues->count++;
	engine->cluster_queues->last_n = MAX(engine->cluster_queues->last_n, task->queued_n);
	engine->change_pending = true;
	if (!executes)
		return;
	queue->executes = true;
	queue->start_s = task->started_s;
}

bool engine_on_time(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const double tolerance_s = QUEUEING_TOLERANCE * engine->setup.system->queueing->bin_s;

	return task->state == ENGINE_TASK_COMPLETED &&
	       task->ended_s <= task->task->deadline_s + tolerance_s;
}

void engine_note_deadline(struct engine *engine, uint32_t index, bool completed)
{
	const struct engine_task *task = &engine->tasks[index];
	const bool on_time = engine_on_time(engine, index);
	const double fairness = engine->setup.system->queueing->pruning.fairness;
	double *sufferage = &engine->cluster_queues->sufferage[task->task->row];

	*sufferage = fmin(1, fmax(0, *sufferage + (on_time ? -fairness : fairness)));
	if (completed && !on_time)
		engine->cluster_queues->missed++;
}

void engine_start_queues(struct engine *engine)
{
	if (!engine->cluster_queues || backend_keeps_queues(engine->backend))
		return;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		struct engine_queue *queue = &engine->cluster_queues->of[c];
		uint32_t index;

		if (engine->ended || queue->count == 0 || queue->executes)
			continue;
		index = queue->tasks[0]->id;
		if (!engine_place_free(engine, index))
			continue;
		queue->executes = true;
		queue->start_s = backend_now_s(engine->backend);
		engine_begin(engine, index);
		engine_record_task(engine, index);
		engine_flush(engine);
		engine_launch(engine, index);
	}
}

void engine_list_queues(struct engine *engine, struct sched_snapshot *snapshot)
{
	if (!engine->cluster_queues)
		return;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++)
		engine->cluster_queues->views[c] = (struct sched_queue){
			.count = engine->cluster_queues->of[c].count,
			.tasks = engine->cluster_queues->of[c].tasks,
			.executes = engine->cluster_queues->of[c].executes,
			.start_s = fmin(engine->cluster_queues->of[c].start_s, snapshot->now_s),
		};
	snapshot->queues = engine->cluster_queues->views;
	snapshot->pruner = engine->cluster_queues->pruner;
	snapshot->missed = engine->cluster_queues->missed;
	snapshot->sufferage = engine->cluster_queues->sufferage;
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
		const struct engine_queue *queue = &engine->cluster_queues->of[c];

		for (uint32_t i = 0; !queue->executes && i < queue->count; i++)
			if (queue->tasks[i]->deadline_s > after_s)
				next_s = fmin(next_s, queue->tasks[i]->deadline_s);
	}
	return next_s;
}

double engine_next_deadline_s(const struct engine *engine, double after_s)
{
	double next_s = INFINITY;

	if (!engine->cluster_queues)
		return next_s;
	/* Deferred tasks may have no other event before their deadlines. */
	for (uint32_t i = 0; engine->cluster_queues->count == 0 && i < engine->waiting.listed;
	     i++) {
		const struct engine_task *task = &engine->tasks[engine->waiting.ids[i]];

		if (task->state == ENGINE_TASK_WAITING && task->task->deadline_s > after_s)
			next_s = fmin(next_s, task->task->deadline_s);
	}
	next_s = fmin(next_s, next_stuck_s(engine, after_s));
	if (!queueing_evicts(&engine->setup.policy, engine->setup.system))
		return next_s;
	for (uint32_t c = 0; c < engine->setup.system->clusters_count; c++) {
		const struct engine_queue *queue = &engine->cluster_queues->of[c];

		if (queue->executes && queue->tasks[0]->deadline_s > after_s)
			next_s = fmin(next_s, queue->tasks[0]->deadline_s);
	}
	return next_s;
}

void engine_queues_decided(struct engine *engine, const struct sched_pruner *pruner, double time_s)
{
	struct cluster_queues *queues = engine->cluster_queues;

	if (!queues)
		return;
	queues->missed = 0;
	if (queues->pruner.level == pruner->level && queues->pruner.dropping == pruner->dropping)
		return;
	queues->pruner = *pruner;
	engine_record_pruner(engine, pruner, time_s);
}

void engine_queues_restore(struct engine *engine, const struct sched_pruner *pruner)
{
	/* Tasks that missed their deadlines since the last event are not recorded. */
	engine->cluster_queues->missed = 0;
	engine->cluster_queues->pruner = *pruner;
	engine->change_pending = true;
}

void engine_queue_again(struct engine *engine)
{
	const uint32_t clusters =
		engine_has_queues(engine) ? engine->setup.system->clusters_count : 0;

	for (uint32_t c = 0; c < clusters; c++)
		for (uint32_t i = 0; i < engine->cluster_queues->of[c].count; i++)
			engine_launch_queued(engine, engine->cluster_queues->of[c].tasks[i]->id);
}

void engine_kill_queued(struct engine *engine)
{
	const uint32_t clusters =
		engine_has_queues(engine) ? engine->setup.system->clusters_count : 0;

	for (uint32_t c = 0; c < clusters; c++) {
		const struct engine_queue *queue = &engine->cluster_queues->of[c];

		for (uint32_t i = queue->executes; i < queue->count; i++)
			backend_kill(engine->backend, queue->tasks[i]->id,
				     engine->tasks[queue->tasks[i]->id].attempts);
	}
}
