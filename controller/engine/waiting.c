/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/state_json.h"
#include "controller/engine/task_list.h"
#include "controller/engine/waiting.h"

struct waiting {
	struct task_list mappable;
	/* `mappable`, in the order of snapshots. Only engine_list_waiting() settles the list. */
	const struct sched_task **tasks;
	uint32_t parked_count;
};

void engine_waiting_init(struct engine *engine, uint32_t tasks_max)
{
	engine->waiting = g_new0(struct waiting, 1);
	task_list_init(&engine->waiting->mappable, tasks_max);
	engine->waiting->tasks = g_new(const struct sched_task *, tasks_max);
}

void engine_waiting_finish(struct engine *engine)
{
	task_list_finish(&engine->waiting->mappable);
	g_free(engine->waiting->tasks);
	g_free(engine->waiting);
}

static int compare_waiting(const void *left, const void *right)
{
	const struct sched_task *a = *(const struct sched_task *const *)left;
	const struct sched_task *b = *(const struct sched_task *const *)right;

	return sched_task_before(b, a) - sched_task_before(a, b);
}

/* Whether tasks in the order of arrival are in the order of priorities as well. */
static bool are_in_order(const struct sched_task *const *tasks, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (tasks[i - 1]->priority < tasks[i]->priority)
			return false;
	return true;
}

const struct sched_task *const *engine_list_waiting(struct engine *engine, uint32_t *ret_count)
{
	struct waiting *waiting = engine->waiting;
	const uint32_t count = waiting->mappable.count;

	*ret_count = count;
	if (!task_list_settle(&waiting->mappable))
		return waiting->tasks;
	for (uint32_t i = 0; i < count; i++)
		waiting->tasks[i] = engine->tasks[waiting->mappable.ids[i]].task;
	if (!are_in_order(waiting->tasks, count))
		qsort(waiting->tasks, count, sizeof(*waiting->tasks), compare_waiting);
	return waiting->tasks;
}

const uint32_t *engine_waiting_listed(const struct engine *engine, uint32_t *ret_listed)
{
	*ret_listed = engine->waiting->mappable.listed;
	return engine->waiting->mappable.ids;
}

uint32_t engine_waiting_count(const struct engine *engine)
{
	return engine->waiting->mappable.count;
}

bool engine_has_waiting(const struct engine *engine)
{
	return engine->waiting->mappable.count + engine->waiting->parked_count > 0;
}

void engine_enqueue_waiting(struct engine *engine, uint32_t task)
{
	task_list_add(&engine->waiting->mappable, task);
}

void engine_dequeue_waiting(struct engine *engine, uint32_t task)
{
	task_list_remove(&engine->waiting->mappable, task);
}

bool engine_move_request(struct engine *engine, uint32_t task, enum request_event event)
{
	return engine_move_state(engine, &request_fsm, &engine->tasks[task].request, event, task);
}

void engine_park(struct engine *engine)
{
	engine->waiting->parked_count++;
}

void engine_unpark(struct engine *engine)
{
	engine->waiting->parked_count--;
}

/* Full states. */

json_t *engine_save_waiting(struct engine *engine)
{
	const struct waiting *waiting = engine->waiting;
	json_t *mappable = json_array();
	uint32_t count;

	engine_list_waiting(engine, &count);
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(mappable, json_integer(waiting->mappable.ids[i]));
	return json_pack("{s:o, s:I}", "mappable", mappable, "parked",
			 (json_int_t)waiting->parked_count);
}

bool engine_load_waiting(struct engine *engine, const json_t *state)
{
	const json_t *mappable = json_object_get(state, "mappable");

	for (size_t i = 0; i < json_array_size(mappable); i++) {
		uint32_t index;

		if (!state_read_u32(json_array_get(mappable, i),
				    engine->setup.workload->tasks_count, &index) ||
		    !engine_task_state_in(engine->tasks[index].state, ENGINE_TASK_PENDING))
			return false;
		engine_enqueue_waiting(engine, index);
	}
	return state_read_u32(json_object_get(state, "parked"), UINT32_MAX,
			      &engine->waiting->parked_count);
}
