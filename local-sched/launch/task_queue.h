/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/launch/task.h"

/*
 * The tasks that wait for their turn on their nodes, in the order of their requests. A task's turn
 * has come when all of its nodes are ready and no task before it waits for one of them. A task
 * whose time to start is over (start_within_s) stays in the queue, gets no turn, and delays no
 * other task; the requester has to delete it. Pure: the scheduler decides when to check the queue,
 * and starts the tasks.
 */
struct task_queue;
typedef struct task_queue task_queue_t;

/* Whether `node` can take a task now. */
typedef bool (*task_queue_ready_f)(uint32_t node, void *data);

/* Creates an empty queue; never returns NULL. */
struct task_queue *task_queue_new(void);
/* Frees the queue, not its tasks. NULL is allowed. */
void task_queue_free(struct task_queue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_queue_t, task_queue_free)

/* Adds a task at the end. It is borrowed until it leaves the queue. */
void task_queue_push(struct task_queue *queue, struct task *task);

/* Puts a task back at the front. */
void task_queue_push_front(struct task_queue *queue, struct task *task);

/* Removes a task, wherever it is. False: it is not in the queue. */
bool task_queue_remove(struct task_queue *queue, const struct task *task);

/*
 * Removes and returns the first task whose turn has come at `now_ns` (platform_now_ns()), or NULL:
 * none has.
 */
struct task *task_queue_take(struct task_queue *queue, int64_t now_ns, task_queue_ready_f ready,
			     void *data);
