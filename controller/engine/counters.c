/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/counters.h"

#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/state_json.h"

const double engine_mapping_bounds_s[ENGINE_MAPPING_BOUNDS] = {
	0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.3, 1,
};

struct counters {
	struct engine_result result; /* so far */
	uint32_t marks_next;         /* index of the next mark */
	struct engine_result *marks; /* per mark */
	double completed_j;          /* dynamic energy of completed tasks */
	double completed_resources;  /* core-seconds */
	bool day_begun;              /* the lead is over */
	double day_j;                /* energy consumed before the day */
};

void engine_counters_init(struct engine *engine)
{
	engine->counters = g_new0(struct counters, 1);
	engine->counters->marks = g_new0(struct engine_result, engine->setup.marks_count);
}

void engine_counters_finish(struct engine *engine)
{
	g_free(engine->counters->marks);
	g_free(engine->counters);
}

const struct engine_result *engine_counts(const struct engine *engine)
{
	return &engine->counters->result;
}

/* Tasks. */

void engine_count_arrived(struct engine *engine)
{
	engine->counters->result.tasks_arrived++;
}

void engine_count_failed(struct engine *engine)
{
	engine->counters->result.tasks_failed++;
}

void engine_count_dropped(struct engine *engine)
{
	engine->counters->result.tasks_dropped++;
}

void engine_count_utility(struct engine *engine, double utility)
{
	engine->counters->result.utility += utility;
}

double engine_counted_j(const struct engine_task *task)
{
	/* An account gives what a meter estimates in a gap to no task. */
	const bool none = task->energy_kind != ENGINE_ENERGY_ESTIMATED && task->energy_j == 0;

	return isfinite(task->energy_j) && !none ? task->energy_j : task->eec_j;
}

void engine_count_completed(struct engine *engine, const struct engine_task *task)
{
	struct counters *counters = engine->counters;

	counters->result.tasks_completed++;
	if (task->nodes_count == 0)
		return;
	counters->completed_j += engine_counted_j(task);
	counters->completed_resources += task->exec_s * task->nodes_count *
					 engine->setup.system->clusters[task->cluster].cores;
}

void engine_correct_completed_j(struct engine *engine, double change_j)
{
	engine->counters->completed_j += change_j;
}

double engine_completed_j(const struct engine *engine)
{
	return engine->counters->completed_j;
}

double engine_completed_resources(const struct engine *engine)
{
	return engine->counters->completed_resources;
}

void engine_count_pause(struct engine *engine, double memory)
{
	engine->counters->result.pauses++;
	engine->counters->result.paused_memory += memory;
}

void engine_count_move(struct engine *engine, double memory)
{
	engine->counters->result.migrations++;
	engine->counters->result.moved_memory += memory;
}

/* Decisions and events. */

void engine_count_decision(struct engine *engine, double decide_s)
{
	engine->counters->result.decisions++;
	engine->counters->result.decide_s += decide_s;
}

void engine_count_fallback(struct engine *engine)
{
	engine->counters->result.fallbacks++;
}

void engine_count_mapping(struct engine *engine, double took_s)
{
	struct engine_result *result = &engine->counters->result;
	guint i = 0;

	while (i < ENGINE_MAPPING_BOUNDS && took_s > engine_mapping_bounds_s[i])
		i++;
	result->mapping_counts[i]++;
	result->mapping_s += took_s;
	result->mapping_longest_s = fmax(result->mapping_longest_s, took_s);
}

void engine_count_impossible(struct engine *engine)
{
	engine->counters->result.impossible_events++;
}

bool engine_move_state(struct engine *engine, const struct fsm *fsm, unsigned int *state,
		       unsigned int event, uint32_t task)
{
	g_autofree char *subject = NULL;

	if (fsm_transition(fsm, *state, event)->rule == FSM_IMPOSSIBLE) {
		engine_count_impossible(engine);
		subject = g_strdup_printf("%u", task);
	}
	return fsm_move(fsm, state, event, subject);
}

/* The day. */

void engine_begin_day(struct engine *engine)
{
	struct counters *counters = engine->counters;

	counters->day_begun = true;
	counters->day_j = backend_energy_j(engine->backend);
	counters->completed_j = counters->completed_resources = 0;
	counters->result = (struct engine_result){
		.decisions = counters->result.decisions,
		.decide_s = counters->result.decide_s,
		.fallbacks = counters->result.fallbacks,
		.impossible_events = counters->result.impossible_events,
	};
}

bool engine_day_begun(const struct engine *engine)
{
	return engine->counters->day_begun;
}

double engine_consumed_j(const struct engine *engine)
{
	return backend_energy_j(engine->backend) - engine->counters->day_j;
}

/* Marks and the end. */

bool engine_has_mark(const struct engine *engine)
{
	return engine->counters->marks_next < engine->setup.marks_count;
}

double engine_next_mark_j(const struct engine *engine)
{
	return engine->setup.marks_j[engine->counters->marks_next];
}

void engine_reach_mark(struct engine *engine, double time_s)
{
	struct engine_result *mark = &engine->counters->marks[engine->counters->marks_next++];

	*mark = engine->counters->result;
	mark->ended_by = ENGINE_END_LIMIT;
	mark->ended_s = time_s;
	mark->energy_j = backend_energy_j(engine->backend);
}

const struct engine_result *engine_mark_result(const struct engine *engine, uint32_t mark)
{
	return &engine->counters->marks[mark];
}

void engine_count_end(struct engine *engine, enum engine_end ended_by, double time_s)
{
	engine->counters->result.ended_by = ended_by;
	engine->counters->result.ended_s = time_s;
}

void engine_count_energy(struct engine *engine)
{
	engine->counters->result.energy_j = engine_consumed_j(engine);
}

const struct engine_result *engine_finish_counting(struct engine *engine)
{
	for (uint32_t i = engine->counters->marks_next; i < engine->setup.marks_count; i++)
		engine->counters->marks[i] = engine->counters->result;
	return &engine->counters->result;
}

/* Full states. */

static const struct state_field counters_fields[] = {
	STATE_FIELD(counters, result.utility, SUM),
	STATE_FIELD(counters, result.tasks_arrived, U32),
	STATE_FIELD(counters, result.tasks_completed, U32),
	STATE_FIELD(counters, result.tasks_failed, U32),
	STATE_FIELD(counters, result.tasks_dropped, U32),
	STATE_FIELD(counters, result.decisions, U64),
	STATE_FIELD(counters, completed_j, SUM),
	STATE_FIELD(counters, completed_resources, SUM),
	{NULL},
};

json_t *engine_save_counters(const struct engine *engine)
{
	return state_write(counters_fields, engine->counters);
}

bool engine_load_counters(struct engine *engine, const json_t *state)
{
	return state_read(counters_fields, state, engine->counters);
}

/* Utility over time. */

/*
 * The utility that a run earned over time, kept as tasks complete: a service has a hundred thousand
 * completed tasks, and clients ask for the log every two seconds. Completions that clusters report
 * late are inserted at their times.
 */

struct utility_log {
	GArray *changes; /* struct engine_utility_change, by time */
	bool due;        /* to be recomputed from the tasks */
};

void engine_utility_log_init(struct engine *engine)
{
	engine->utility_log = g_new(struct utility_log, 1);
	*engine->utility_log = (struct utility_log){
		.changes = g_array_new(FALSE, FALSE, sizeof(struct engine_utility_change)),
	};
}

void engine_utility_log_finish(struct engine *engine)
{
	g_array_unref(engine->utility_log->changes);
	g_free(engine->utility_log);
}

void engine_rebuild_utility_log(struct engine *engine)
{
	engine->utility_log->due = true;
}

static int by_time(const void *left, const void *right)
{
	const struct engine_utility_change *one = left;
	const struct engine_utility_change *other = right;

	return (one->time_s > other->time_s) - (one->time_s < other->time_s);
}

static struct engine_utility_change *change_at(const struct engine *engine, guint i)
{
	return &g_array_index(engine->utility_log->changes, struct engine_utility_change, i);
}

static void update_sums(struct engine *engine, guint from)
{
	double sum = from > 0 ? change_at(engine, from - 1)->sum : 0;

	for (guint i = from; i < engine->utility_log->changes->len; i++)
		sum = change_at(engine, i)->sum = sum + change_at(engine, i)->utility;
}

/* Recomputes the log from the tasks: after a restart these are in the order of their numbers. */
static void rebuild_log(struct engine *engine)
{
	g_array_set_size(engine->utility_log->changes, 0);
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++) {
		const struct engine_task *task = &engine->tasks[i];
		const struct engine_utility_change change = {.time_s = task->ended_s,
							     .utility = task->utility};

		if (task->state == ENGINE_TASK_COMPLETED && isfinite(task->ended_s))
			g_array_append_val(engine->utility_log->changes, change);
	}
	g_array_sort(engine->utility_log->changes, by_time);
	update_sums(engine, 0);
	engine->utility_log->due = false;
}

void engine_note_utility(struct engine *engine, double time_s, double utility)
{
	const struct engine_utility_change change = {.time_s = time_s, .utility = utility};
	guint place;

	if (engine->utility_log->due)
		rebuild_log(engine);
	place = engine->utility_log->changes->len;
	while (place > 0 && change_at(engine, place - 1)->time_s > time_s)
		place--;
	g_array_insert_val(engine->utility_log->changes, place, change);
	update_sums(engine, place);
}

const struct engine_utility_change *engine_utility_log(struct engine *engine, uint32_t *ret_count)
{
	if (engine->utility_log->due)
		rebuild_log(engine);
	*ret_count = engine->utility_log->changes->len;
	return (const struct engine_utility_change *)(void *)engine->utility_log->changes->data;
}
