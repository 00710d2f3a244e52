/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/task_list.h"

#include <glib.h>
#include <stdlib.h>

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
