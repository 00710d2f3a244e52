/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/full_state.h"

#include <math.h>

#include "common/json.h"
#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/engine_record.h"
#include "controller/engine/lifecycle.h"
#include "controller/engine/mapping.h"
#include "controller/engine/mapping_clock.h"
#include "controller/engine/migration.h"
#include "controller/engine/nodes.h"
#include "controller/engine/placement.h"
#include "controller/engine/places.h"
#include "controller/engine/reservations.h"
#include "controller/engine/state_json.h"
#include "controller/engine/suspensions.h"
#include "controller/engine/task_fsm.h"
#include "controller/engine/task_lists.h"
#include "controller/engine/window.h"

/* Tasks. */

/* All but the nodes, and what only shared hosts and queues have. */
static const struct state_field task_fields[] = {
	STATE_FIELD(engine_task, state, U32),
	STATE_FIELD(engine_task, cluster, U32),
	STATE_FIELD(engine_task, pstate, U32),
	STATE_FIELD(engine_task, attempts, U32),
	STATE_FIELD(engine_task, attempts_before, U32),
	STATE_FIELD(engine_task, suspensions, U32),
	STATE_FIELD(engine_task, migrations, U32),
	STATE_FIELD(engine_task, request, U32),
	STATE_FIELD(engine_task, reservation, BOOL),
	STATE_FIELD(engine_task, planned_start_s, TIME),
	STATE_FIELD(engine_task, promised_s, FAR),
	STATE_FIELD(engine_task, slid, U32),
	STATE_FIELD(engine_task, waited_s, SUM),
	STATE_FIELD(engine_task, waits_since_s, TIME),
	STATE_FIELD(engine_task, started_s, TIME),
	STATE_FIELD(engine_task, since_s, TIME),
	STATE_FIELD(engine_task, executed_s, SUM),
	STATE_FIELD(engine_task, expected_end_s, TIME),
	STATE_FIELD(engine_task, late, BOOL),
	STATE_FIELD(engine_task, claims_late, BOOL),
	STATE_FIELD(engine_task, ended_s, TIME),
	STATE_FIELD(engine_task, exec_s, TIME),
	STATE_FIELD(engine_task, etc_s, TIME),
	STATE_FIELD(engine_task, energy_j, TIME),
	STATE_FIELD(engine_task, energy_kind, U32),
	STATE_FIELD(engine_task, eec_j, TIME),
	STATE_FIELD(engine_task, utility, SUM),
	{NULL},
};

/* Of a completed task: what an account's corrections of its energy depend on, beside its nodes. */
static const struct state_field completed_fields[] = {
	STATE_FIELD(engine_task, state, U32),
	STATE_FIELD(engine_task, cluster, U32),
	STATE_FIELD(engine_task, pstate, U32),
	STATE_FIELD(engine_task, energy_j, TIME),
	STATE_FIELD(engine_task, energy_kind, U32),
	STATE_FIELD(engine_task, eec_j, TIME),
	{NULL},
};

/* What a user submitted. */
static const struct state_field submitted_fields[] = {
	STATE_FIELD(sched_task, row, U32),          STATE_FIELD(sched_task, arrival_s, SUM),
	STATE_FIELD(sched_task, utility.max, SUM),  STATE_FIELD(sched_task, may_preempt, BOOL),
	STATE_FIELD(sched_task, preemptible, BOOL), STATE_FIELD(sched_task, deadline_s, FAR),
	STATE_FIELD(sched_task, priority, I32),     {NULL},
};

/*
 * Whether a task is in a state: something may still become of it. The tasks of a closed workload
 * that are to come are in the workload.
 */
static bool is_saved(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	if (task->state == ENGINE_TASK_COMING)
		return engine->setup.open;
	return !engine_task_over(task) ||
	       (engine->setup.task_ended_j && task->state == ENGINE_TASK_COMPLETED &&
		task->energy_kind != ENGINE_ENERGY_FINAL);
}

uint32_t engine_saved_count(const struct engine *engine)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++)
		count += is_saved(engine, i);
	return count;
}

static json_t *write_segments(const struct utility *utility)
{
	json_t *segments = json_array();

	for (uint32_t i = 0; i < utility->segments_count; i++) {
		const struct utility_segment *one = &utility->segments[i];

		json_array_append_new(segments, json_pack("[i, o, o, o, o]", (int)one->curve,
							  state_write_real(one->duration_s),
							  state_write_real(one->start_fraction),
							  state_write_real(one->end_fraction),
							  state_write_real(one->rate_per_s)));
	}
	return segments;
}

static json_t *write_completed(struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];
	const uint32_t row = engine->setup.workload->tasks[index].row;
	json_t *state = state_write(completed_fields, task);

	json_object_set_new(state, "id", json_integer(index));
	state_put(state, "nodes", json_numbers(task->nodes, task->nodes_count));
	if (engine->setup.open && row > 0)
		json_object_set_new(state, "task", json_pack("{s:I}", "row", (json_int_t)row));
	return state;
}

static json_t *write_task(struct engine *engine, uint32_t index)
{
	struct engine_task task = engine->tasks[index];
	const struct sched_task *submitted = &engine->setup.workload->tasks[index];
	const double refused_j = engine_window_refused_j(engine, index);
	json_t *state, *made;

	if (task.state == ENGINE_TASK_COMPLETED)
		return write_completed(engine, index);
	/* An account sets the energy of others as well, on which nothing depends. */
	task.energy_j = NAN;
	task.energy_kind = ENGINE_ENERGY_ESTIMATED;
	state = state_write(task_fields, &task);
	json_object_set_new(state, "id", json_integer(index));
	state_put(state, "nodes", json_numbers(task.nodes, task.nodes_count));
	if (engine->setup.open) {
		made = state_write(submitted_fields, submitted);
		state_put(made, "segments", write_segments(&submitted->utility));
		state_put(state, "task", made);
	}
	if (engine->known[index].preemptible != submitted->preemptible)
		json_object_set_new(state, "not_now", json_true());
	if (engine_claim_waits(engine, index) > 0)
		json_object_set_new(state, "claim_waits",
				    json_integer(engine_claim_waits(engine, index)));
	if (!isnan(refused_j))
		json_object_set_new(state, "refused_j", state_write_real(refused_j));
	state_put(state, "suspension", engine_save_suspension(engine, index));
	state_put(state, "migration", engine_save_migration(engine, index));
	return state;
}

void engine_save_tasks(struct engine *engine, void (*add)(const json_t *task, void *data),
		       void *data)
{
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++)
		if (is_saved(engine, i)) {
			g_autoptr(json_t) task = write_task(engine, i);

			add(task, data);
		}
}

static void append_task(const json_t *task, void *data)
{
	json_array_append(data, (json_t *)task);
}

static bool read_segments(const json_t *segments, struct utility *utility)
{
	utility->segments_count = (uint32_t)json_array_size(segments);
	if (utility->segments_count > UTILITY_SEGMENTS_MAX)
		return false;
	for (uint32_t i = 0; i < utility->segments_count; i++) {
		struct utility_segment *one = &utility->segments[i];
		const json_t *from = json_array_get(segments, i);
		uint32_t curve;

		if (!state_read_u32(json_array_get(from, 0), UTILITY_EXPONENTIAL + 1, &curve) ||
		    !state_read_real(json_array_get(from, 1), &one->duration_s) ||
		    !state_read_real(json_array_get(from, 2), &one->start_fraction) ||
		    !state_read_real(json_array_get(from, 3), &one->end_fraction) ||
		    !state_read_real(json_array_get(from, 4), &one->rate_per_s))
			return false;
		one->curve = (enum utility_curve)curve;
	}
	return true;
}

bool engine_load_workload(const json_t *state, const struct sched_system *system,
			  struct workload *workload)
{
	const json_t *tasks = json_object_get(state, "tasks");
	uint32_t count;
	double last_s;

	if (!state_read_u32(json_object_get(state, "tasks_count"), workload->tasks_max + 1,
			    &count) ||
	    !state_read_real(json_object_get(state, "last_arrival_s"), &last_s))
		return false;
	for (uint32_t i = 0; i < count; i++) /* what has ended has no type any more */
		workload->tasks[i] = (struct sched_task){.id = i, .row = system->rows_count};
	workload->tasks_count = count;
	for (size_t i = 0; i < json_array_size(tasks); i++) {
		const json_t *one = json_array_get(tasks, i);
		const json_t *made = json_object_get(one, "task");
		struct sched_task *task;
		uint32_t id;

		if (!state_read_u32(json_object_get(one, "id"), count, &id))
			return false;
		task = &workload->tasks[id];
		if (!state_read(submitted_fields, made, task) ||
		    !read_segments(json_object_get(made, "segments"), &task->utility))
			return false;
	}
	if (count > 0) /* which may be of a completed task */
		workload->tasks[count - 1].arrival_s = last_s;
	return true;
}

/* The nodes of a task, and what goes with them. */
static bool read_place(struct engine *engine, uint32_t index, const json_t *state)
{
	const struct sched_system *system = engine->setup.system;
	const struct engine_task *task = &engine->tasks[index];
	const uint32_t width =
		engine->placement->width(system, &engine->setup.workload->tasks[index]);
	g_autofree uint32_t *nodes = g_new(uint32_t, width + 1);
	uint32_t count;

	if (task->cluster >= system->clusters_count ||
	    task->pstate >= system->clusters[task->cluster].pstates ||
	    !state_read_list(json_object_get(state, "nodes"), width,
			     system->clusters[task->cluster].nodes, nodes, &count))
		return false;
	if (count > 0)
		engine_set_nodes(engine, index, nodes, count);
	return count > 0 ||
	       !engine_task_state_in(task->state, ENGINE_TASK_UNDER_WAY | ENGINE_TASK_WITH_CLAIM);
}

/* Whether a task has a type of the system wherever that is used. */
static bool has_type(const struct engine *engine, uint32_t index)
{
	return engine->setup.workload->tasks[index].row < engine->setup.system->rows_count ||
	       !engine_task_state_in(engine->tasks[index].state,
				     ENGINE_TASK_SET(ENGINE_TASK_COMING) | ENGINE_TASK_PENDING |
					     ENGINE_TASK_UNDER_WAY | ENGINE_TASK_WITH_CLAIM);
}

/* Whether the last suspension and migration of a task agree with its state. */
static bool has_steps(const struct engine *engine, uint32_t index)
{
	const enum engine_task_state state = engine->tasks[index].state;
	const uint32_t suspended = ENGINE_TASK_ANY_SUSPENDING | ENGINE_TASK_ANY_SUSPENDED |
				   ENGINE_TASK_SET(ENGINE_TASK_RESUMING);

	return (!engine_task_state_in(state, suspended) || engine_suspension_at(engine, index)) &&
	       (state != ENGINE_TASK_MIGRATING ||
		engine_migration_state(engine, index) != MIGRATION_NONE);
}

static bool load_task(struct engine *engine, const json_t *state, bool *ret_loaded)
{
	const json_t *waits = json_object_get(state, "claim_waits");
	const json_t *refused = json_object_get(state, "refused_j");
	const json_t *suspension = json_object_get(state, "suspension");
	const json_t *migration = json_object_get(state, "migration");
	struct engine_task read;
	struct engine_task *task;
	uint32_t index;
	uint32_t number;
	double refused_j;

	if (!state_read_u32(json_object_get(state, "id"), engine->setup.workload->tasks_count,
			    &index))
		return false;
	task = &engine->tasks[index];
	read = *task;
	if (ret_loaded[index] || !state_read(task_fields, state, &read) ||
	    read.state >= ENGINE_TASK_STATES || read.request >= REQUEST_STATES ||
	    read.energy_kind > ENGINE_ENERGY_FINAL)
		return false;
	*task = read;
	ret_loaded[index] = true;
	engine->known[index].preemptible = engine->setup.workload->tasks[index].preemptible &&
					   !json_is_true(json_object_get(state, "not_now"));
	if (!has_type(engine, index) || !read_place(engine, index, state))
		return false;
	if (waits) {
		if (!state_read_u32(waits, UINT32_MAX, &number))
			return false;
		engine_set_claim_waits(engine, index, number);
	}
	if (refused) {
		if (!state_read_real(refused, &refused_j))
			return false;
		engine_window_set_refused_j(engine, index, refused_j);
	}
	return (!suspension || engine_load_suspension(engine, index, suspension)) &&
	       (!migration || engine_load_migration(engine, index, migration)) &&
	       has_steps(engine, index);
}

static bool load_tasks(struct engine *engine, const json_t *tasks)
{
	const uint32_t count = engine->setup.workload->tasks_count;
	const uint32_t arrived = engine->setup.open ? count : engine->arrivals_next;
	g_autofree bool *loaded = g_new0(bool, count + 1);

	for (size_t i = 0; i < json_array_size(tasks); i++)
		if (!load_task(engine, json_array_get(tasks, i), loaded))
			return false;
	/* All others that have arrived have ended. */
	for (uint32_t i = 0; i < arrived; i++)
		if (!loaded[i])
			engine_task_restore(&engine->tasks[i].state, ENGINE_TASK_KILLED);
	return true;
}

/* Running tasks. */

static const struct state_field running_fields[] = {
	STATE_FIELD(sched_allocation, start_s, SUM),
	STATE_FIELD(sched_allocation, executed_s, SUM),
	STATE_FIELD(sched_allocation, end_s, SUM),
	{NULL},
};

static json_t *write_running(struct engine *engine)
{
	json_t *list = json_array();

	running_list_settle(&engine->running);
	for (uint32_t i = 0; i < engine->running.count; i++) {
		json_t *entry = state_write(running_fields, &engine->running.entries[i]);

		json_object_set_new(entry, "task",
				    json_integer(engine->running.entries[i].task->id));
		json_array_append_new(list, entry);
	}
	return list;
}

/* The nodes on which a task runs, or will once its claim is carried out. */
static const uint32_t *running_nodes(const struct engine *engine, uint32_t index)
{
	const struct engine_task *task = &engine->tasks[index];

	return task->state == ENGINE_TASK_SUSPENDING_CLAIMED ||
			       task->state == ENGINE_TASK_SUSPENDED_CLAIMED
		       ? engine_suspension_at(engine, index)->to_nodes
		       : task->nodes;
}

static bool load_running(struct engine *engine, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		struct sched_allocation running;
		uint32_t index;

		if (!state_read_u32(json_object_get(entry, "task"),
				    engine->setup.workload->tasks_count, &index) ||
		    !engine_task_state_in(engine->tasks[index].state,
					  ENGINE_TASK_ON_NODES | ENGINE_TASK_WITH_CLAIM) ||
		    running_list_find(&engine->running, index))
			return false;
		running = engine_running(engine, index, running_nodes(engine, index), 0);
		if (!state_read(running_fields, entry, &running))
			return false;
		running_list_add(&engine->running, &running);
	}
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++)
		if (engine_task_state_in(engine->tasks[i].state,
					 ENGINE_TASK_ON_NODES | ENGINE_TASK_WITH_CLAIM) &&
		    !running_list_find(&engine->running, i))
			return false;
	return true;
}

/* The whole. */

static const struct state_field engine_fields[] = {
	STATE_FIELD(engine, arrivals_next, U32),
	STATE_FIELD(engine, next_s, SUM),
	STATE_FIELD(engine, stirred, BOOL),
	STATE_FIELD(engine, setup.mapping_interval_s, SUM),
	{NULL},
};

bool engine_can_save(const struct engine *engine)
{
	return engine->placement == &placement_exclusive && !engine_is_deciding(engine) &&
	       !engine->users && !engine->noting && !engine->ended &&
	       engine->setup.marks_count == 0 && !(engine->setup.lead_s > 0);
}

json_t *engine_save_head(struct engine *engine)
{
	const struct workload *workload = engine->setup.workload;
	const uint32_t count = workload->tasks_count;
	json_t *state;

	if (!engine_can_save(engine))
		return NULL;
	state = state_write(engine_fields, engine);
	json_object_set_new(state, "policy", json_string(engine->setup.policy.name));
	json_object_set_new(state, "tasks_count", json_integer(count));
	json_object_set_new(state, "last_arrival_s",
			    state_write_real(count > 0 ? workload->tasks[count - 1].arrival_s : 0));
	state_put(state, "running", write_running(engine));
	state_put(state, "waiting", engine_save_waiting(engine));
	state_put(state, "planned", engine_save_planned(engine));
	state_put(state, "nodes", engine_save_nodes(engine));
	state_put(state, "window", engine_save_window(engine));
	state_put(state, "clock", engine_save_clock(engine));
	state_put(state, "counters", engine_save_counters(engine));
	state_put(state, "recorded", engine_save_recorded(engine));
	return state;
}

json_t *engine_save(struct engine *engine)
{
	json_t *state = engine_save_head(engine);
	json_t *tasks;

	if (!state)
		return NULL;
	tasks = json_array();
	engine_save_tasks(engine, append_task, tasks);
	state_put(state, "tasks", tasks);
	return state;
}

static bool load_policy(struct engine *engine, const json_t *state)
{
	const char *name = json_string_value(json_object_get(state, "policy"));
	struct policy policy;
	char message[256];

	if (!name || policy_parse(name, &policy, message, sizeof(message)) < 0 ||
	    policy_misfit(&policy, engine->setup.system))
		return false;
	engine->setup.policy = policy;
	return true;
}

bool engine_load(struct engine *engine, const json_t *state)
{
	return engine->placement == &placement_exclusive && load_policy(engine, state) &&
	       state_read(engine_fields, state, engine) &&
	       engine->arrivals_next <= engine->setup.workload->tasks_count &&
	       state_is_period(engine->setup.mapping_interval_s) &&
	       load_tasks(engine, json_object_get(state, "tasks")) &&
	       load_running(engine, json_object_get(state, "running")) &&
	       engine_load_waiting(engine, json_object_get(state, "waiting")) &&
	       engine_load_planned(engine, json_object_get(state, "planned")) &&
	       engine_load_nodes(engine, json_object_get(state, "nodes")) &&
	       engine_load_window(engine, json_object_get(state, "window")) &&
	       engine_load_clock(engine, json_object_get(state, "clock")) &&
	       engine_load_counters(engine, json_object_get(state, "counters")) &&
	       engine_load_recorded(engine, json_object_get(state, "recorded"));
}
