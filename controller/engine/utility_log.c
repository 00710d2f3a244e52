/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The utility that a run earned over time, kept as tasks complete: a service has a hundred thousand
 * completed tasks, and clients ask for the log every two seconds. Completions that clusters report
 * late are inserted at their times.
 */
#include <math.h>

#include "controller/engine/engine_private.h"
#include "controller/engine/utility_log.h"

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
