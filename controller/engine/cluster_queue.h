/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sched_task;

/* The engine's internals: the queue of a cluster, in the order in which it executes the tasks. */
struct cluster_queue {
	uint32_t count;
	const struct sched_task **tasks; /* room for `length` tasks */
	bool executes;                   /* the first task was started, at start_s */
	double start_s;
};

/* Initialises an empty queue for up to `length` tasks. */
void cluster_queue_init(struct cluster_queue *queue, uint32_t length);
void cluster_queue_finish(struct cluster_queue *queue);

/* Inserts a task before the one at `at` <= count. There must be room. */
void cluster_queue_insert(struct cluster_queue *queue, uint32_t at, const struct sched_task *task);

/*
 * Removes a task. Returns false if it is not in the queue. When the first one is removed, none
 * executes.
 */
bool cluster_queue_remove(struct cluster_queue *queue, uint32_t task);

/* Notes that a task was started at `time_s`: it is the first one from now on. */
void cluster_queue_execute(struct cluster_queue *queue, uint32_t task, double time_s);
