/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/launch/task_queue.h"

#define SECOND_NS INT64_C(1000000000)

static uint32_t nodes[][2] = {{0, 1}, {2, 0}, {1, 2}, {2, 3}};

/* Tasks on two nodes each, asked for at 0 s, 1 s, ... */
static void fill(struct task *tasks, struct task_queue *queue)
{
	for (uint32_t i = 0; i < G_N_ELEMENTS(nodes); i++) {
		tasks[i] = (struct task){.nodes = nodes[i],
					 .nodes_count = 2,
					 .queued_ns = i * SECOND_NS};
		task_queue_push(queue, &tasks[i]);
	}
}

static bool ready(uint32_t node, void *data)
{
	return *(uint32_t *)data & 1u << node;
}

static void test_order(void)
{
	g_autoptr(task_queue_t) queue = task_queue_new();
	struct task tasks[G_N_ELEMENTS(nodes)];
	uint32_t all = 0xf, none = 0, some = 0xe, last = 0xc;

	fill(tasks, queue);
	g_assert_null(task_queue_take(queue, SECOND_NS, ready, &none));
	/* task 1 wants node 2 first */
	g_assert_null(task_queue_take(queue, SECOND_NS, ready, &last));
	g_assert_null(task_queue_take(queue, SECOND_NS, ready, &some));
	g_assert_true(task_queue_take(queue, SECOND_NS, ready, &all) == &tasks[0]);
	g_assert_true(task_queue_take(queue, SECOND_NS, ready, &all) == &tasks[1]);
	g_assert_true(task_queue_take(queue, SECOND_NS, ready, &last) == NULL);
	g_assert_true(task_queue_remove(queue, &tasks[2]));
	g_assert_false(task_queue_remove(queue, &tasks[2]));
	g_assert_true(task_queue_take(queue, SECOND_NS, ready, &last) == &tasks[3]);
	g_assert_null(task_queue_take(queue, SECOND_NS, ready, &all));
}

/* What came too late for its start is passed by, and stays until it is taken back. */
static void test_over(void)
{
	g_autoptr(task_queue_t) queue = task_queue_new();
	struct task tasks[G_N_ELEMENTS(nodes)];
	uint32_t all = 0xf;

	fill(tasks, queue);
	tasks[0].start_within_s = 5;
	tasks[1].start_within_s = 5;
	g_assert_true(task_queue_take(queue, 5 * SECOND_NS, ready, &all) == &tasks[1]);
	g_assert_true(task_queue_take(queue, 5 * SECOND_NS, ready, &all) == &tasks[2]);
	g_assert_true(task_queue_take(queue, 5 * SECOND_NS, ready, &all) == &tasks[3]);
	g_assert_null(task_queue_take(queue, 5 * SECOND_NS, ready, &all));
	g_assert_true(task_queue_remove(queue, &tasks[0]));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/task-queue/tasks take turns in the order in which they were asked for",
			test_order);
	g_test_add_func("/task-queue/a task whose time to start is over is passed by", test_over);
	return g_test_run();
}
