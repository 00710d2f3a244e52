/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/task_lists.h"

#include <glib.h>
#include <stdlib.h>

#include "controller/engine/counters.h"
#include "controller/engine/engine_private.h"
#include "controller/engine/state_json.h"

/* Sets of tasks. */

#define MEMBER 1u
#define LISTED 2u /* in `ids`, at most once */

void task_list_init(struct task_list *list, uint32_t tasks_count)
{
	*list = (struct task_list){
		.ids = g_new(uint32_t, tasks_count),
		.flags = g_new0(uint8_t, tasks_count),
	};
}

void task_list_finish(struct task_list *list)
{
	g_free(list->ids);
	g_free(list->flags);
}

void task_list_add(struct task_list *list, uint32_t task)
{
	if (list->flags[task] & MEMBER)
		return;
	list->count++;
	list->changed = true;
	if (!(list->flags[task] & LISTED)) {
		if (list->ordered == list->listed &&
		    (list->listed == 0 || list->ids[list->listed - 1] < task))
			list->ordered++;
		list->ids[list->listed++] = task;
	}
	list->flags[task] = MEMBER | LISTED;
}

void task_list_remove(struct task_list *list, uint32_t task)
{
	if (!(list->flags[task] & MEMBER))
		return;
	list->count--;
	list->changed = true;
	list->flags[task] = LISTED;
}

/* Moves the members among ids[first, end) to ids[to]... Returns how many they are. */
static uint32_t compact(struct task_list *list, uint32_t first, uint32_t end, uint32_t to)
{
	const uint32_t begin = to;

	for (uint32_t i = first; i < end; i++) {
		const uint32_t task = list->ids[i];

		if (list->flags[task] & MEMBER)
			list->ids[to++] = task;
		else
			list->flags[task] = 0;
	}
	return to - begin;
}

static int compare(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left;
	const uint32_t b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Merges the ids behind the first `ordered` into them. */
static void merge(struct task_list *list, uint32_t ordered)
{
	const uint32_t count = list->count - ordered;
	g_autofree uint32_t *tail = g_memdup2(list->ids + ordered, count * sizeof(*list->ids));
	uint32_t i = ordered;
	uint32_t j = count;

	qsort(tail, count, sizeof(*tail), compare);
	for (uint32_t to = list->count; j > 0; to--)
		list->ids[to - 1] =
			i > 0 && list->ids[i - 1] > tail[j - 1] ? list->ids[--i] : tail[--j];
}

bool task_list_settle(struct task_list *list)
{
	uint32_t ordered;

	if (!list->changed)
		return false;
	ordered = compact(list, 0, list->ordered, 0);
	compact(list, list->ordered, list->listed, ordered);
	if (ordered < list->count)
		merge(list, ordered);
	list->listed = list->ordered = list->count;
	list->changed = false;
	return true;
}

/* Tasks on nodes. */

void running_list_init(struct running_list *list, uint32_t tasks_count)
{
	*list = (struct running_list){
		.room = tasks_count,
		.entries = g_new(struct sched_allocation, tasks_count),
		.places = g_new0(uint32_t, tasks_count),
	};
}

void running_list_finish(struct running_list *list)
{
	g_free(list->entries);
	g_free(list->places);
}

static void set_entry(struct running_list *list, uint32_t i, const struct sched_allocation *running)
{
	list->entries[i] = *running;
	list->places[running->task->id] = i + 1;
}

void running_list_add(struct running_list *list, const struct sched_allocation *running)
{
	if (list->listed == list->room)
		running_list_settle(list);
	set_entry(list, list->listed++, running);
	list->count++;
}

void running_list_insert(struct running_list *list, const struct sched_allocation *running)
{
	uint32_t i;

	running_list_settle(list);
	i = list->listed++;
	for (; i > 0 && list->entries[i - 1].start_s > running->start_s; i--)
		set_entry(list, i, &list->entries[i - 1]);
	set_entry(list, i, running);
	list->count++;
}

void running_list_remove(struct running_list *list, uint32_t task)
{
	const uint32_t place = list->places[task];

	if (place == 0)
		return;
	list->entries[place - 1].task = NULL;
	list->places[task] = 0;
	list->count--;
}

struct sched_allocation *running_list_find(const struct running_list *list, uint32_t task)
{
	const uint32_t place = list->places[task];

	return place == 0 ? NULL : &list->entries[place - 1];
}

void running_list_settle(struct running_list *list)
{
	uint32_t to = 0;

	if (list->listed == list->count)
		return;
	for (uint32_t i = 0; i < list->listed; i++) {
		if (!list->entries[i].task)
			continue;
		if (to != i)
			set_entry(list, to, &list->entries[i]);
		to++;
	}
	list->listed = to;
}

/* Tasks that wait. */

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
