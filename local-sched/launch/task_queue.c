/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/launch/task_queue.h"

#include "common/clock.h"

struct task_queue {
	GPtrArray *tasks; /* borrowed, in order */
};

struct task_queue *task_queue_new(void)
{
	struct task_queue *queue = g_new0(struct task_queue, 1);

	queue->tasks = g_ptr_array_new();
	return queue;
}

void task_queue_free(struct task_queue *queue)
{
	if (!queue)
		return;
	g_ptr_array_unref(queue->tasks);
	g_free(queue);
}

void task_queue_push(struct task_queue *queue, struct task *task)
{
	g_ptr_array_add(queue->tasks, task);
}

void task_queue_push_front(struct task_queue *queue, struct task *task)
{
	g_ptr_array_insert(queue->tasks, 0, task);
}

bool task_queue_remove(struct task_queue *queue, const struct task *task)
{
	return g_ptr_array_remove(queue->tasks, (gpointer)task);
}

static bool is_over(const struct task *task, int64_t now_ns)
{
	return task->start_within_s > 0 &&
	       clock_elapsed_s(task->queued_ns, now_ns) >= task->start_within_s;
}

static bool share_a_node(const struct task *task, const struct task *other)
{
	for (uint32_t i = 0; i < task->nodes_count; i++)
		for (uint32_t j = 0; j < other->nodes_count; j++)
			if (task->nodes[i] == other->nodes[j])
				return true;
	return false;
}

static bool nodes_are_ready(const struct task *task, task_queue_ready_f ready, void *data)
{
	for (uint32_t i = 0; i < task->nodes_count; i++)
		if (!ready(task->nodes[i], data))
			return false;
	return true;
}

/* Whether a task before index `at`, which may still start, needs one of the nodes of task `at`. */
static bool has_to_wait(const struct task_queue *queue, guint at, int64_t now_ns)
{
	for (guint i = 0; i < at; i++)
		if (!is_over(queue->tasks->pdata[i], now_ns) &&
		    share_a_node(queue->tasks->pdata[i], queue->tasks->pdata[at]))
			return true;
	return false;
}

struct task *task_queue_take(struct task_queue *queue, int64_t now_ns, task_queue_ready_f ready,
			     void *data)
{
	for (guint i = 0; i < queue->tasks->len; i++) {
		struct task *task = queue->tasks->pdata[i];

		if (is_over(task, now_ns) || has_to_wait(queue, i, now_ns) ||
		    !nodes_are_ready(task, ready, data))
			continue;
		g_ptr_array_remove_index(queue->tasks, i);
		return task;
	}
	return NULL;
}
