/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a run earned over time, kept as tasks complete: a service has earned a hundred thousand times, and those who
 * watch ask every two seconds. Clusters tell late, too: what comes late is put in its place.
 */
#include <math.h>

#include "controller/engine/state.h"

static int by_time(const void *left, const void *right)
{
	const struct engine_earning *one = left;
	const struct engine_earning *other = right;

	return (one->time_s > other->time_s) - (one->time_s < other->time_s);
}

static struct engine_earning *earning_at(const struct engine *engine, guint i)
{
	return &g_array_index(engine->earnings, struct engine_earning, i);
}

static void sum_up(struct engine *engine, guint from)
{
	double sum = from > 0 ? earning_at(engine, from - 1)->sum : 0;

	for (guint i = from; i < engine->earnings->len; i++)
		sum = earning_at(engine, i)->sum = sum + earning_at(engine, i)->utility;
}

/* All anew: what is restored comes in the order of numbers. */
static void gather(struct engine *engine)
{
	g_array_set_size(engine->earnings, 0);
	for (uint32_t i = 0; i < engine->setup.workload->tasks_count; i++) {
		const struct engine_task *task = &engine->tasks[i];
		const struct engine_earning earning = {.time_s = task->ended_s, .utility = task->utility};

		if (task->state == ENGINE_TASK_COMPLETED && isfinite(task->ended_s))
			g_array_append_val(engine->earnings, earning);
	}
	g_array_sort(engine->earnings, by_time);
	sum_up(engine, 0);
	engine->earnings_due = false;
}

void engine_note_earning(struct engine *engine, double time_s, double utility)
{
	const struct engine_earning earning = {.time_s = time_s, .utility = utility};
	guint place;

	if (engine->earnings_due)
		gather(engine);
	place = engine->earnings->len;
	while (place > 0 && earning_at(engine, place - 1)->time_s > time_s)
		place--;
	g_array_insert_val(engine->earnings, place, earning);
	sum_up(engine, place);
}

const struct engine_earning *engine_earnings(struct engine *engine, uint32_t *ret_count)
{
	if (engine->earnings_due)
		gather(engine);
	*ret_count = engine->earnings->len;
	return (const struct engine_earning *)(void *)engine->earnings->data;
}
