/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The inside of the engine: machines with queues.
 */

/* queues.c: all but init, finish and list are for systems with queues, where they say so. */

void engine_queues_init(struct engine *engine);
void engine_queues_finish(struct engine *engine);

/* Whether a queue can take a task: NULL, or why not. */
const char *engine_check_enqueue(const struct engine *engine, const struct sched_action *action);

/* Puts a waiting task at the end of a machine's queue. */
void engine_enqueue(struct engine *engine, uint32_t task, uint32_t cluster);

/* Tells the backend of a task that was queued, where machines keep their queues themselves. */
void engine_launch_queued(struct engine *engine, uint32_t task);

/* Takes a task off its queue, if it is in one. */
void engine_dequeue(struct engine *engine, uint32_t task);

/* A task that executes is taken off its machine: its nodes are free once the backend says so. */
void engine_evict(struct engine *engine, uint32_t task);

/* Whether the event is the end of a task that was taken off its machine: its nodes are free now. */
bool engine_evicted(struct engine *engine, const struct backend_event *event);

/* BEGAN, or STARTED where the news of that was lost. */
void engine_handle_began(struct engine *engine, const struct backend_event *event);

/* Puts a task that was restored into the queue of its machine: one that executes at its head. */
void engine_requeue(struct engine *engine, uint32_t task);

/* Whether a task of a system with queues completed by its deadline, give or take a hair. */
bool engine_on_time(const struct engine *engine, uint32_t task);

/* A task completed, or was dropped: its type suffers more or less (Gentry 2019, V.D.2). */
void engine_note_deadline(struct engine *engine, uint32_t task, bool completed);

/* Starts the first task of every queue whose machine is idle; without queues it does nothing. */
void engine_start_queues(struct engine *engine);

/* What the snapshot says of queues; without queues nothing. */
void engine_list_queues(struct engine *engine, struct sched_snapshot *snapshot);

/*
 * The first deadline after `after_s` of a task that executes, where the policy takes such tasks off, or
 * of one that waits while all machines are idle, or is queued on an idle machine that keeps its queue
 * itself; else INFINITY.
 */
double engine_next_deadline_s(const struct engine *engine, double after_s);
