/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/launch/task.h"

/*
 * The tasks that wait for their turn on their nodes, in the order in which they were asked for. A task's
 * turn has come when all of its nodes are ready and none before it wants one of them. Those whose time
 * to start is over (start_within_s) stay, take no turn, and stand in nobody's way: who asked for them
 * has to take them back. Pure: when to look, and starting them, is the scheduler's affair.
 */
struct task_queue;
typedef struct task_queue task_queue_t;

/* Whether node `node` takes a task now. */
typedef bool (*task_queue_ready_f)(uint32_t node, void *data);

/* Returns an empty queue; never NULL. */
struct task_queue *task_queue_new(void);
/* The tasks are not its own. NULL is allowed. */
void task_queue_free(struct task_queue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(task_queue_t, task_queue_free)

/* Adds a task at the end; borrowed until it is off the queue. */
void task_queue_push(struct task_queue *queue, struct task *task);

/* Puts one that was taken off back, before all others. */
void task_queue_push_front(struct task_queue *queue, struct task *task);

/* Takes a task off, wherever it is. False: it is not in. */
bool task_queue_remove(struct task_queue *queue, const struct task *task);

/* Takes off the first task whose turn has come at `now_ns` (clock_now_ns()), or NULL: none has. */
struct task *task_queue_take(struct task_queue *queue, int64_t now_ns, task_queue_ready_f ready,
			     void *data);
