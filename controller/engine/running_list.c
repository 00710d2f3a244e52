/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/engine/running_list.h"

#include <glib.h>

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
