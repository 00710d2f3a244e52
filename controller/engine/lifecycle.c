/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "controller/engine/state.h"

void engine_wait_for(struct engine *engine, uint32_t task)
{
	task_list_add(&engine->waiting, task);
}

void engine_unwait(struct engine *engine, uint32_t task)
{
	task_list_remove(&engine->waiting, task);
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
		if (task->held)
			engine->parked_count++;
		else
			engine_wait_for(engine, engine->arrivals_next);
		engine_record_task(engine, engine->arrivals_next);
	}
}

void engine_set_place(struct engine *engine, uint32_t index, uint32_t cluster, uint32_t pstate,
		      const uint32_t *nodes, uint32_t nodes_count)
{
	struct engine_task *task = &engine->tasks[index];
	const struct sched_option *option =
		engine->hosts ? NULL
			      : sched_system_option(engine->setup.system, task->task->row, cluster,
						    pstate);

	memcpy(engine->places[index], nodes, nodes_count * sizeof(*nodes));
	task->cluster = cluster;
	task->pstate = pstate;
	task->nodes = engine->places[index];
	task->nodes_count = nodes_count;
	task->slid = 0;
	task->etc_s = option ? option->etc_s : (double)INFINITY; /* on shared hosts nobody knows */
	task->eec_j = option ? option->eec_j : 0;
}

bool engine_place_free(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	for (uint32_t i = 0; i < task->nodes_count; i++) {
		const uint32_t node = task->nodes[i];

		if (engine->occupants[task->cluster][node] != ENGINE_NO_TASK ||
		    engine->leavers[task->cluster][node] != ENGINE_NO_TASK ||
		    engine->down[task->cluster][node])
			return false;
	}
	return true;
}

static void set_occupant(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	engine->changes++;
	engine->tallied = false;
	for (uint32_t i = 0; i < task->nodes_count; i++)
		engine->occupants[task->cluster][nodes[i]] = index;
}

/* Where machines keep queues the next task may be there already. */
static void clear_occupant(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	const struct engine_task *task = &engine->tasks[index];

	engine->changes++;
	engine->tallied = false;
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (engine->occupants[task->cluster][nodes[i]] == index)
			engine->occupants[task->cluster][nodes[i]] = ENGINE_NO_TASK;
}

void engine_occupy(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	if (engine->hosts)
		engine_promise_memory(engine, index, nodes);
	else
		set_occupant(engine, index, nodes);
}

void engine_vacate(struct engine *engine, uint32_t index, const uint32_t *nodes)
{
	if (engine->hosts)
		engine_free_memory(engine, index, nodes);
	else
		clear_occupant(engine, index, nodes);
}

double engine_expected_end_s(const struct engine_task *task, double start_s)
{
	return start_s + fmax(0, task->etc_s - task->executed_s);
}

struct sched_running engine_running(const struct engine *engine, uint32_t index,
				    const uint32_t *nodes, double start_s)
{
	const struct engine_task *task = &engine->tasks[index];

	return (struct sched_running){
		.task = task->task,
		.cluster = task->cluster,
		.pstate = task->pstate,
		.nodes_count = task->nodes_count,
		.nodes = nodes,
		.start_s = start_s,
		.executed_s = task->executed_s,
		.end_s = engine_expected_end_s(task, start_s),
	};
}

void engine_set_preemptible(struct engine *engine, uint32_t index)
{
	const enum engine_task_state state = engine->tasks[index].state;
	const struct suspension *suspension = engine->suspensions[index];

	engine->changes++;
	engine->known[index].preemptible =
		engine->setup.workload->tasks[index].preemptible && engine->blocked[index] == 0 &&
		state != ENGINE_TASK_STARTING && state != ENGINE_TASK_RESUMING &&
		state != ENGINE_TASK_MIGRATING && !engine->tasks[index].cancelled &&
		(!suspension || suspension->stays < ENGINE_STAYS_MAX);
}

/* An attempt begins now. */
static void begin_attempt(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	task->state = ENGINE_TASK_STARTING;
	task->reservation = false;
	task->attempts++;
	task->suspensions = 0;
	task->migrations = 0;
	task->executed_s = 0;
	task->started_s = task->since_s = backend_now_s(engine->backend);
	task->expected_end_s = engine_expected_end_s(task, task->since_s);
	task->ended_s = task->exec_s = task->energy_j = NAN;
	task->virtual_s = 0;
	engine_begin_sharing(engine, index);
	engine_set_preemptible(engine, index);
	engine_touch(engine, index);
}

void engine_begin_queued(struct engine *engine, uint32_t index, double time_s)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_running running;

	task->state = ENGINE_TASK_STARTING;
	task->suspensions = 0;
	task->executed_s = 0;
	task->started_s = task->since_s = time_s;
	task->expected_end_s = engine_expected_end_s(task, time_s);
	task->ended_s = task->exec_s = task->energy_j = NAN;
	engine_occupy(engine, index, task->nodes);
	engine_set_preemptible(engine, index);
	running = engine_running(engine, index, task->nodes, time_s);
	running_list_insert(&engine->running, &running);
}

/* Its nodes are still being left: it has a claim to them. */
static void begin_claim(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	task->state = ENGINE_TASK_PLANNED;
	task->reservation = true;
	task->executed_s = 0;
	task->expected_end_s = engine_expected_end_s(task, backend_now_s(engine->backend));
	engine_set_preemptible(engine, index);
	engine_touch(engine, index);
}

void engine_begin(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];
	struct sched_running running;

	engine_unwait(engine, index);
	engine_occupy(engine, index, task->nodes);
	engine->blocked[index] = engine_leaving_nodes(engine, index, task->nodes);
	if (engine->blocked[index] > 0)
		begin_claim(engine, index);
	else
		begin_attempt(engine, index);
	running = engine_running(engine, index, task->nodes, backend_now_s(engine->backend));
	running_list_add(&engine->running, &running);
}

void engine_begin_claimed(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	begin_attempt(engine, index);
	*running_list_find(&engine->running, index) =
		engine_running(engine, index, task->nodes, task->since_s);
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
	if (engine->hosts)
		backend_share(engine->backend, index, task->attempts, task->yield);
}

void engine_cancel(struct engine *engine, uint32_t index)
{
	struct engine_task *task = &engine->tasks[index];

	if (task->reservation)
		engine_wait_for(engine, index);
	task->state = ENGINE_TASK_WAITING;
	task->reservation = false;
	engine_touch(engine, index);
}

enum engine_task_state engine_after_loss(struct engine *engine, uint32_t index, double time_s,
					 const char *reason)
{
	const struct engine_task *task = &engine->tasks[index];

	engine_record_event(engine, time_s, "lost", index, reason);
	if (task->cancelled) {
		engine->result.tasks_failed++;
		return ENGINE_TASK_KILLED;
	}
	if (task->attempts - task->attempts_before >= ENGINE_ATTEMPTS_MAX) {
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

double engine_day_share(const struct engine *engine, uint32_t index, double start_s, double end_s)
{
	const struct engine_setup *setup = &engine->setup;
	const struct suspension *suspension = engine->suspensions[index];
	const double executed_s = engine->tasks[index].executed_s;
	double counts_s = executed_s;
	double begin_s = start_s;

	if (setup->lead_s <= 0)
		return 1;
	if (engine->day_begun) {
		begin_s = fmax(start_s, setup->lead_s);
		counts_s -= suspension ? suspension->lead_s : 0;
	}
	return (counts_s + (fmin(end_s, setup->duration_s) - begin_s)) /
	       (executed_s + (end_s - start_s));
}

static enum engine_task_state after_outcome(struct engine *engine, uint32_t index,
					    const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[index];

	switch (event->outcome) {
	case BACKEND_OUTCOME_COMPLETED:
		task->utility = utility_value(&task->task->utility,
					      event->time_s - task->task->arrival_s) *
				engine_day_share(engine, index, task->since_s, event->time_s);
		engine->result.utility += task->utility;
		engine->result.tasks_completed++;
		engine_count_completed(engine, task);
		return ENGINE_TASK_COMPLETED;
	case BACKEND_OUTCOME_LOST:
		return engine_after_loss(engine, index, event->time_s, event->reason);
	case BACKEND_OUTCOME_KILLED:
		/* Nobody asked for that: whoever served before could not record that it stopped. */
		if (engine->setup.open && !task->cancelled && !engine->ended)
			return engine_after_loss(engine, index, event->time_s, event->reason);
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

	if (task->state == ENGINE_TASK_QUEUED && !backend_keeps_queues(engine->backend))
		return false;
	return task->attempts == event->attempt && task->state >= ENGINE_TASK_QUEUED &&
	       task->state <= ENGINE_TASK_MIGRATING;
}

static void handle_started(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];

	engine_handle_began(engine, event);
	if (!is_current(engine, event) || task->state != ENGINE_TASK_STARTING)
		return;
	task->state = ENGINE_TASK_RUNNING;
	engine_set_preemptible(engine, event->task);
	task->reason = event->reason;
	engine_record_task(engine, event->task);
}

static void handle_ended(struct engine *engine, const struct backend_event *event)
{
	struct engine_task *task = &engine->tasks[event->task];
	const enum engine_task_state state = task->state;

	if (engine_evicted(engine, event) || !is_current(engine, event))
		return;
	engine->changed_places = true;
	if (state == ENGINE_TASK_STARTING || state == ENGINE_TASK_RUNNING ||
	    state == ENGINE_TASK_RESUMING || state == ENGINE_TASK_MIGRATING) {
		engine_stop_sharing(engine, event->task, event->time_s);
		engine_vacate(engine, event->task, task->nodes);
		engine_window_note_end(engine, event->task, event->time_s);
		running_list_remove(&engine->running, event->task);
	}
	task->ended_s = event->time_s;
	task->exec_s = event->exec_s;
	task->energy_j = event->energy_j;
	task->state = after_outcome(engine, event->task, event);
	task->reason = event->reason;
	if (engine->queues) {
		engine_dequeue(engine, event->task);
		if (task->state != ENGINE_TASK_WAITING)
			engine_note_deadline(engine, event->task,
					     task->state == ENGINE_TASK_COMPLETED);
	}
	engine_set_preemptible(engine, event->task);
	engine_record_task(engine, event->task);
	task->reason = NULL;
	if (engine->suspensions[event->task])
		engine_end_suspension(engine, event->task, state);
	if (state == ENGINE_TASK_MIGRATING)
		engine_end_migration(engine, event->task);
	engine_retry_late(engine, event->time_s);
	engine_resume_wanted(engine);
}

static bool place_has(const struct sched_planned *planned, const struct sched_node *node)
{
	if (planned->cluster != node->cluster)
		return false;
	for (uint32_t i = 0; i < planned->nodes_count; i++)
		if (planned->nodes[i] == node->node)
			return true;
	return false;
}

/* Takes back what was promised a node. */
static void cancel_promises(struct engine *engine, struct sched_planned *list, uint32_t *count,
			    const struct sched_node *node, double time_s, const char *reason)
{
	for (uint32_t i = 0; i < *count;) {
		const uint32_t task = list[i].task->id;

		if (!place_has(&list[i], node)) {
			i++;
			continue;
		}
		engine_unpromise(list, count, task);
		engine_cancel(engine, task);
		engine_record_event(engine, time_s, "cancelled", task, reason);
		engine_record_task(engine, task);
	}
}

void engine_set_down(struct engine *engine, const struct sched_node *node, double time_s,
		     const char *reason)
{
	const struct engine_closure *closure = &engine->closures[node->cluster][node->node];
	const bool down = closure->failed || closure->drained;

	if (engine->down[node->cluster][node->node] == down)
		return;
	engine->changes++;
	engine->down[node->cluster][node->node] = down;
	engine->tallied = false;
	engine->changed_places = true;
	if (down) {
		engine->down_nodes[engine->down_count++] = *node;
		engine_unclaim_node(engine, node->cluster, node->node);
		cancel_promises(engine, engine->reservations, &engine->reservations_count, node,
				time_s, reason);
		cancel_promises(engine, engine->placeholders, &engine->placeholders_count, node,
				time_s, reason);
		return;
	}
	for (uint32_t i = 0; i < engine->down_count; i++)
		if (engine->down_nodes[i].cluster == node->cluster &&
		    engine->down_nodes[i].node == node->node)
			engine->down_nodes[i--] = engine->down_nodes[--engine->down_count];
}

static void handle_node(struct engine *engine, const struct backend_event *event)
{
	const bool down = event->kind == BACKEND_EVENT_NODE_DOWN;
	const struct sched_node node = { event->cluster, event->node };

	if (node.cluster >= engine->setup.system->clusters_count ||
	    node.node >= engine->setup.system->clusters[node.cluster].nodes ||
	    engine->closures[node.cluster][node.node].failed == down)
		return;
	engine->closures[node.cluster][node.node].failed = down;
	engine_record_node(engine, event->time_s, down ? "node-down" : "node-up", &node,
			   event->reason);
	engine_set_down(engine, &node, event->time_s, "node went down");
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
	case BACKEND_EVENT_BEGAN:
		engine_handle_began(engine, event);
		break;
	case BACKEND_EVENT_NODE_DOWN:
	case BACKEND_EVENT_NODE_UP:
		handle_node(engine, event);
		break;
	case BACKEND_EVENT_ABORTED:
		engine_abort(engine, "%s", event->reason ? event->reason : "the backend gave up");
		break;
	case BACKEND_EVENT_SUSPENDED:
	case BACKEND_EVENT_RESUMED:
	case BACKEND_EVENT_STAYED:
		if (is_current(engine, event) &&
		    event->n == engine->tasks[event->task].suspensions)
			engine_handle_suspension(engine, event);
		break;
	case BACKEND_EVENT_MIGRATED:
	case BACKEND_EVENT_UNMOVED:
		if (is_current(engine, event))
			engine_handle_migration(engine, event);
		break;
	case BACKEND_EVENT_NONE:
	case BACKEND_EVENT_ENERGY_LIMIT:
		break;
	}
}

/*
 * What tasks that run at the end of the day earn for the part that lies in it. One that is suspended
 * then earns nothing: when it would complete is not known.
 */
static void count_spanning(struct engine *engine)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const struct sched_running *running = &engine->running.entries[i];
		const uint32_t task = running->task->id;
		const double utility = utility_value(
			&running->task->utility, running->end_s - running->task->arrival_s);

		if (engine->blocked[task] > 0)
			continue;
		engine->result.utility +=
			utility * engine_day_share(engine, task, running->start_s, running->end_s);
	}
}

static void kill_running(struct engine *engine)
{
	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		const uint32_t task = engine->running.entries[i].task->id;

		if (engine->tasks[task].state != ENGINE_TASK_PLANNED)
			backend_kill(engine->backend, task, engine->tasks[task].attempts);
	}
	for (uint32_t c = 0; engine->queues && c < engine->setup.system->clusters_count; c++)
		for (uint32_t i = engine->queues[c].executes; i < engine->queues[c].count; i++) {
			const uint32_t task = engine->queues[c].tasks[i]->id;

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
	engine_kill_suspended(engine);
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
