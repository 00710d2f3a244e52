/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/plan_rules_task.h"

#include <stdarg.h>
#include <stdio.h>

uint32_t rules_entry(const struct rules *rules, uint32_t action)
{
	return rules->plan->entries ? rules->plan->entries[action] : action;
}

bool rules_refuse(struct rules *rules, uint32_t action, const char *format, ...)
{
	int used = 0;
	va_list arguments;

	if (action != UINT32_MAX)
		used = snprintf(rules->message, RULES_MESSAGE,
				"actions[%u], %s of task %u: ", rules_entry(rules, action),
				sched_action_kind_name(rules->plan->actions[action].kind),
				rules->plan->actions[action].task);
	va_start(arguments, format);
	vsnprintf(rules->message + used, RULES_MESSAGE - (size_t)used, format, arguments);
	va_end(arguments);
	return false;
}

void *rules_array(struct rules *rules, size_t count, size_t size)
{
	void *array = arena_array(rules->arena, count, size);

	if (!array)
		rules_refuse(rules, UINT32_MAX, "out of memory");
	return array;
}

/* The slot of a task, or the free one where it would be. */
static uint32_t *find_slot(const struct rules *rules, uint32_t id)
{
	uint32_t at = (uint32_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	for (;; at++) {
		uint32_t *slot = &rules->slots[at & (rules->slots_count - 1)];

		if (*slot == 0 || rules->tasks[*slot - 1].task->id == id)
			return slot;
	}
}

static void add(struct rules *rules, const struct rules_task *task)
{
	uint32_t *slot = find_slot(rules, task->task->id);

	/* The executing task of a queue is among the running, too. */
	if (*slot != 0)
		return;
	rules->tasks[rules->tasks_count] = *task;
	*slot = ++rules->tasks_count;
}

static void add_places(struct rules *rules, enum rules_list list,
		       const struct sched_allocation *places, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add(rules, &(struct rules_task){.task = places[i].task,
						.list = list,
						.place = &places[i]});
}

bool rules_list_tasks(struct rules *rules)
{
	const struct sched_snapshot *snapshot = rules->snapshot;
	size_t count = (size_t)snapshot->waiting_count + snapshot->suspended_count +
		       snapshot->running_count + snapshot->reservations_count;

	for (uint32_t c = 0; snapshot->queues && c < rules->system->clusters_count; c++)
		count += snapshot->queues[c].count;
	rules->slots_count = 16;
	while (rules->slots_count < 2 * count)
		rules->slots_count *= 2;
	rules->slots = rules_array(rules, rules->slots_count, sizeof(*rules->slots));
	rules->tasks = rules_array(rules, count, sizeof(*rules->tasks));
	if (!rules->slots || !rules->tasks)
		return false;
	for (uint32_t i = 0; i < snapshot->waiting_count; i++)
		add(rules, &(struct rules_task){.task = snapshot->waiting[i]});
	add_places(rules, RULES_SUSPENDED, snapshot->suspended, snapshot->suspended_count);
	for (uint32_t c = 0; snapshot->queues && c < rules->system->clusters_count; c++)
		for (uint32_t i = 0; i < snapshot->queues[c].count; i++)
			add(rules, &(struct rules_task){.task = snapshot->queues[c].tasks[i],
							.list = RULES_QUEUED,
							.cluster = c});
	add_places(rules, RULES_RUNNING, snapshot->running, snapshot->running_count);
	add_places(rules, RULES_RESERVED, snapshot->reservations, snapshot->reservations_count);
	return true;
}

struct rules_task *rules_task_of(struct rules *rules, uint32_t action)
{
	const struct sched_action *asked = &rules->plan->actions[action];
	const uint32_t slot = *find_slot(rules, asked->task);
	struct rules_task *task = slot ? &rules->tasks[slot - 1] : NULL;

	if (!task) {
		rules_refuse(rules, action, "the snapshot has no such task");
		return NULL;
	}
	if (task->ended || (task->suspended && asked->kind != SCHED_ACTION_RESUME)) {
		rules_refuse(rules, action, "actions[%u] is of the same task",
			     rules_entry(rules, (uint32_t)(task->action - rules->plan->actions)));
		return NULL;
	}
	task->action = asked;
	return task;
}

bool rules_refuse_list(struct rules *rules, uint32_t action, const struct rules_task *task)
{
	static const char *const texts[] = {
		[RULES_WAITING] = "it waits",
		[RULES_SUSPENDED] = "it is suspended",
		[RULES_RUNNING] = "it runs",
		[RULES_QUEUED] = "it is in a queue",
		[RULES_RESERVED] = "it has a reservation",
	};

	return rules_refuse(rules, action, "%s", texts[task->list]);
}

bool rules_check_cluster(struct rules *rules, uint32_t action)
{
	const struct sched_action *asked = &rules->plan->actions[action];
	const struct sched_cluster *cluster;

	if (asked->cluster >= rules->system->clusters_count)
		return rules_refuse(rules, action, "there is no cluster %u", asked->cluster);
	cluster = &rules->system->clusters[asked->cluster];
	if (asked->pstate >= cluster->pstates)
		return rules_refuse(rules, action, "cluster \"%s\" has no P-state %u",
				    cluster->name, asked->pstate);
	if (asked->nodes_count > 0 && !asked->nodes)
		return rules_refuse(rules, action, "it has %u nodes and no list of them",
				    asked->nodes_count);
	for (uint32_t i = 0; i < asked->nodes_count; i++)
		if (asked->nodes[i] >= cluster->nodes)
			return rules_refuse(rules, action,
					    "cluster \"%s\" has no node %u: they are 0 to %u",
					    cluster->name, asked->nodes[i], cluster->nodes - 1);
	return true;
}
