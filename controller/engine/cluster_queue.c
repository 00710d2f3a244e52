/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "controller/engine/cluster_queue.h"
#include "controller/sched/model.h"

void cluster_queue_init(struct cluster_queue *queue, uint32_t length)
{
	*queue = (struct cluster_queue){.tasks = g_new(const struct sched_task *, length)};
}

void cluster_queue_finish(struct cluster_queue *queue)
{
	g_free(queue->tasks);
}

/* The place of a task, or `count`. */
static uint32_t find(const struct cluster_queue *queue, uint32_t task)
{
	uint32_t at = 0;

	while (at < queue->count && queue->tasks[at]->id != task)
		at++;
	return at;
}

void cluster_queue_insert(struct cluster_queue *queue, uint32_t at, const struct sched_task *task)
{
	memmove(queue->tasks + at + 1, queue->tasks + at,
		(queue->count - at) * sizeof(*queue->tasks));
	queue->tasks[at] = task;
	queue->count++;
}

bool cluster_queue_remove(struct cluster_queue *queue, uint32_t task)
{
	const uint32_t at = find(queue, task);

	if (at == queue->count)
		return false;
	queue->count--;
	memmove(queue->tasks + at, queue->tasks + at + 1,
		(queue->count - at) * sizeof(*queue->tasks));
	if (at == 0)
		queue->executes = false;
	return true;
}

void cluster_queue_execute(struct cluster_queue *queue, uint32_t task, double time_s)
{
	const uint32_t at = find(queue, task);

	if (at > 0 && at < queue->count) {
		const struct sched_task *first = queue->tasks[at];

		memmove(queue->tasks + 1, queue->tasks, at * sizeof(*queue->tasks));
		queue->tasks[0] = first;
	}
	queue->executes = true;
	queue->start_s = time_s;
}
