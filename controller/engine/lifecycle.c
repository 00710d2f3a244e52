/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/engine/state.h"

void engine_wait_for(struct engine *engine, uint32_t task)
{
	uint32_t i = engine->waiting_count++;

	for (; i > 0 && engine->waiting[i - 1]->id > task; i--)
		engine->waiting[i] = engine->waiting[i - 1];
	engine->waiting[i] = engine->tasks[task].task;
}

void engine_unwait(struct engine *engine, uint32_t task)
{
	for (uint32_t i = 0; i < engine->waiting_count; i++) {
		if (engine->waiting[i]->id != task)
			continue;
		engine->waiting_count--;
		memmove(engine->waiting + i, engine->waiting + i + 1,
			(engine->waiting_count - i) * sizeof(*engine->waiting));
		return;
	}
}

void engine_arrive(struct engine *engine, double time_s)
{
	const struct workload *workload = engine->setup.workload;

	for (; engine->arrivals_next < workload->tasks_count &&
	       workload->tasks[engine->arrivals_next].arrival_s <= time_s;
	     engine->arrivals_next++) {
		struct engine_task *task = &engine->tasks[engine->arrivals_next];

		if (task->state != ENGINE_TASK_COMING)
			continue; /* restored */
		task->state = ENGINE_TASK_WAITING;
		task->reason = NULL;
		engine->result.tasks_arrived++;
		engine_wait_for(engine, engine->arrivals_next);
		engine_record_task(engine, engine->arrivals_next);
	}
}

void engine_set_place(struct engine *engine, uint32_t index, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count)
{
	struct engine_task *task = &engine->tasks[index];
	const struct sched_option *option =
		sched_system_option(engine->setup.system, task->task->row, cluster, pstate);

	memcpy(engine->places[index], nodes, nodes_count * sizeof(*nodes));
	task->cluster = cluster;
	task->pstate = pstate;
	task->nodes = engine->places[index];
	task->nodes_count = nodes_count;
	task->etc_s = option->etc_s;
	task->eec_j = option->eec_j;
}

bool engine_place_free(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		const uint32_t node = task->nodes[i];

		if (engine->occupants[task->cluster][node] != ENGINE_NO_TASK ||
		    engine->down[task->cluster][node])
			return false;
	}
	return true;
}

static void occupy(struct engine *engine, const struct engine_task *task, uint32_t occupant)
{
	for (uint32_t i = 0; i < task->nodes_count; i++)
		engine->occupants[task->cluster][task->nodes[i]] = occupant;
}

void engine_begin(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	engine_unwait(engine, index);
	task->state = ENGINE_TASK_STARTING;
	task->attempts++;
	task->started_s = backend_now_s(engine->backend);
	task->expected_end_s = task->started_s + task->etc_s;
	task->ended_s = task->exec_s = task->energy_j = NAN;
	occupy(engine, task, index);
	engine->running[engine->running_count++] = (struct sched_running){
		.task = task->task,
		.cluster = task->cluster,
		.pstate = task->pstate,
		.nodes_count = task->nodes_count,
		.nodes = task->nodes,
		.start_s = task->started_s,
		.end_s = task->expected_end_s,
	};
	engine->dirty[index] = true;
}

void engine_launch(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	backend_start(engine->backend, &(struct backend_start){
		.task = index,
		.attempt = task->attempts,
		.type = task->task->row,
		.cluster = task->cluster,
		.pstate = task->pstate,
		.nodes = task->nodes,
		.nodes_count = task->nodes_count,
	});
}

void engine_cancel(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (task->reservation)
		engine_wait_for(engine, index);
	task->state = ENGINE_TASK_WAITING;
	task->reservation = false;
	engine->dirty[index] = true;
}

static void stop_running(struct engine *engine, uint32_t index)
{
	occupy(engine, &engine->tasks[index], ENGINE_NO_TASK);
	for (uint32_t i = 0; i < engine->running_count; i++) {
		if (engine->running[i].task->id != index)
			continue;
		engine->running_count--;
		memmove(engine->running + i, engine->running + i + 1,
			(engine->running_count - i) * sizeof(*engine->running));
		return;
	}
}

/* A task was lost through no fault of its own: once more, unless that was too often. */
static enum engine_task_state after_loss(struct engine *engine, uint32_t index,
					 const struct backend_event *event)
{
	engine_record_event(engine, event->time_s, "lost", index, event->reason);
	if (engine->tasks[index].attempts >= ENGINE_ATTEMPTS_MAX) {
		engine->result.tasks_failed++;
		return ENGINE_TASK_FAILED;
	}
	engine_wait_for(engine, index);
	return ENGINE_TASK_WAITING;
}

void engine_count_completed(struct engine *engine, const struct engine_task *task)
{
	const struct sched_cluster *cluster = &engine->setup.system->clusters[task->cluster];
	/* A host without a meter says nothing about energy: the estimate stands in. */
	const double energy_j = isfinite(task->energy_j) ? task->energy_j : task->eec_j;

	engine->completed_j += energy_j;
	engine->completed_resources += task->exec_s * task->nodes_count * cluster->cores;
}

double engine_day_share(const struct engine *engine, double start_s, double end_s)
{
	const struct engine_setup *setup = &engine->setup;
	const double begin_s = engine->day_begun ? fmax(start_s, setup->lead_s) : start_s;

	if (setup->lead_s <= 0)
		return 1;
	return (fmin(end_s, setup->duration_s) - begin_s) / (end_s - start_s);
}

static enum engine_task_state after_outcome(struct engine *engine, uint32_t index,
					    const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[index];

	switch (event->outcome) {
	case BACKEND_OUTCOME_COMPLETED:
		task->utility = utility_value(&task->task->utility,
					      event->time_s - task->task->arrival_s) *
				engine_day_share(engine, task->started_s, event->time_s);
		engine->result.utility += task->utility;
		engine->result.tasks_completed++;
		engine_count_completed(engine, task);
		return ENGINE_TASK_COMPLETED;
	case BACKEND_OUTCOME_LOST:
		return after_loss(engine, index, event);
	case BACKEND_OUTCOME_KILLED:
		engine->result.tasks_failed++;
		return ENGINE_TASK_KILLED;
	case BACKEND_OUTCOME_NONE:
	case BACKEND_OUTCOME_FAILED:
		break;
	}
	engine->result.tasks_failed++;
	return ENGINE_TASK_FAILED;
}

/* News of an attempt that is not the current one, or of an ended task, is old. */
static bool is_current(const struct engine *engine, const struct backend_event *event)
{
	if (event->task >= engine->setup.workload->tasks_count)
		return false;

	const struct engine_task *task = &engine->tasks[event->task];

	return task->attempts == event->attempt &&
	       (task->state == ENGINE_TASK_STARTING || task->state == ENGINE_TASK_RUNNING);
}

static void handle_started(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];

	if (!is_current(engine, event) || task->state == ENGINE_TASK_RUNNING)
		return;
	task->state = ENGINE_TASK_RUNNING;
	task->reason = event->reason;
	engine_record_task(engine, event->task);
}

static void handle_ended(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];

	if (!is_current(engine, event))
		return;
	stop_running(engine, event->task);
	task->ended_s = event->time_s;
	task->exec_s = event->exec_s;
	task->energy_j = event->energy_j;
	task->state = after_outcome(engine, event->task, event);
	task->reason = event->reason;
	engine_record_task(engine, event->task);
	task->reason = NULL;
	engine_retry_late(engine, event->time_s);
}

static bool place_has(const struct sched_planned *planned, const struct backend_event *event)
{
	if (planned->cluster != event->cluster)
		return false;
	for (uint32_t i = 0; i < planned->nodes_count; i++)
		if (planned->nodes[i] == event->node)
			return true;
	return false;
}

/* Takes back what was promised a node that went down. */
static void cancel_promises(struct engine *engine, struct sched_planned *list, uint32_t *count,
			    const struct backend_event *event)
{
	for (uint32_t i = 0; i < *count;) {
		const uint32_t task = list[i].task->id;

		if (!place_has(&list[i], event)) {
			i++;
			continue;
		}
		engine_unpromise(list, count, task);
		engine_cancel(engine, task);
		engine_record_event(engine, event->time_s, "cancelled", task, "node went down");
		engine_record_task(engine, task);
	}
}

static void handle_node(struct engine *engine, const struct backend_event *event)
{
	const bool down = event->kind == BACKEND_EVENT_NODE_DOWN;
	const struct sched_node node = { event->cluster, event->node };

	if (node.cluster >= engine->setup.system->clusters_count ||
	    node.node >= engine->setup.system->clusters[node.cluster].nodes ||
	    engine->down[node.cluster][node.node] == down)
		return;
	engine->down[node.cluster][node.node] = down;
	engine_record_node(engine, event->time_s, down ? "node-down" : "node-up", &node,
			   event->reason);
	if (down) {
		engine->down_nodes[engine->down_count++] = node;
		cancel_promises(engine, engine->reservations, &engine->reservations_count, event);
		cancel_promises(engine, engine->placeholders, &engine->placeholders_count, event);
		return;
	}
	for (uint32_t i = 0; i < engine->down_count; i++)
		if (engine->down_nodes[i].cluster == node.cluster &&
		    engine->down_nodes[i].node == node.node)
			engine->down_nodes[i--] = engine->down_nodes[--engine->down_count];
}

void engine_handle(struct engine *engine, const struct backend_event *event)
{
	switch (event->kind) {
	case BACKEND_EVENT_STARTED:
		handle_started(engine, event);
		break;
	case BACKEND_EVENT_ENDED:
		handle_ended(engine, event);
		break;
	case BACKEND_EVENT_NODE_DOWN:
	case BACKEND_EVENT_NODE_UP:
		handle_node(engine, event);
		break;
	case BACKEND_EVENT_ABORTED:
		engine_abort(engine, "%s", event->reason ? event->reason : "the backend gave up");
		break;
	case BACKEND_EVENT_NONE:
	case BACKEND_EVENT_ENERGY_LIMIT:
	case BACKEND_EVENT_SUSPENDED:
	case BACKEND_EVENT_RESUMED:
	case BACKEND_EVENT_STAYED:
		break;
	}
}

/* What tasks that run at the end of the day earn for the part that lies in it. */
static void count_spanning(struct engine *engine)
{
	for (uint32_t i = 0; i < engine->running_count; i++) {
		const struct sched_running *running = &engine->running[i];
		const double utility = utility_value(
			&running->task->utility, running->end_s - running->task->arrival_s);

		engine->result.utility +=
			utility * engine_day_share(engine, running->start_s, running->end_s);
	}
}

static void kill_running(struct engine *engine)
{
	for (uint32_t i = 0; i < engine->running_count; i++) {
		const uint32_t task = engine->running[i].task->id;

		backend_kill(engine->backend, task, engine->tasks[task].attempts);
	}
}

/* Whether a task came to an end of its own before the run did. */
static bool ended_in_time(const struct engine *engine, const struct backend_event *event)
{
	return event->kind == BACKEND_EVENT_ENDED && event->time_s <= engine->result.ended_s &&
	       (event->outcome == BACKEND_OUTCOME_COMPLETED ||
		event->outcome == BACKEND_OUTCOME_FAILED);
}

/* What ended before the run did counts, also where the news of it comes after. */
static void take_late_ends(struct engine *engine)
{
	struct backend_event event;

	if (engine->result.ended_by == ENGINE_END_ABORTED || !backend_settle(engine->backend))
		return;
	do {
		backend_wait(engine->backend, engine->result.ended_s, &event);
		if (ended_in_time(engine, &event))
			engine_handle(engine, &event);
	} while (event.kind != BACKEND_EVENT_NONE && event.kind != BACKEND_EVENT_ABORTED);
}

void engine_leave_rest(struct engine *engine)
{
	kill_running(engine);
	take_late_ends(engine);
	if (engine->setup.lead_s > 0)
		count_spanning(engine);
	for (uint32_t i = 0; i < engine->arrivals_next; i++) {
		struct engine_task *task = &engine->tasks[i];

		if (task->state >= ENGINE_TASK_COMPLETED)
			continue;
		task->state = ENGINE_TASK_UNFINISHED;
		task->reason = "the run ended";
		engine_record_task(engine, i);
	}
}
