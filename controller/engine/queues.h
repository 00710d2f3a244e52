/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/* The engine's internals: clusters with queues. */

/*
 * queues.c. Systems without queues may call init, finish and list only, and the functions whose
 * comments say so.
 */

void engine_queues_init(struct engine *engine);
void engine_queues_finish(struct engine *engine);

/* Whether clusters have queues. */
bool engine_has_queues(const struct engine *engine);

/* How many tasks are in queues, executing ones included; 0 without queues. */
uint32_t engine_queued_count(const struct engine *engine);

/* Whether the queue of a cluster takes no more tasks. */
bool engine_queue_is_full(const struct engine *engine, uint32_t cluster);

/* What policies for queues remember from one mapping event to the next; NULL without queues. */
struct queueing_memory *engine_queues_memory(struct engine *engine);

/*
 * Takes over and records the state of pruning after a decision for `time_s`. No effect without
 * queues.
 */
void engine_queues_decided(struct engine *engine, const struct sched_pruner *pruner, double time_s);

/* Restores the state of pruning. */
void engine_queues_restore(struct engine *engine, const struct sched_pruner *pruner);

/* Asks the backend to kill the queued tasks that no cluster executes. No effect without queues. */
void engine_kill_queued(struct engine *engine);

/* NULL if the action's queue can take its task, else why not. */
const char *engine_check_enqueue(const struct engine *engine, const struct sched_action *action);

/* Appends a waiting task to the queue of a cluster. */
void engine_enqueue(struct engine *engine, uint32_t task, uint32_t cluster);

/* Sends a queued task to the backend, if clusters keep their queues themselves. */
void engine_launch_queued(struct engine *engine, uint32_t task);

/* Removes a task from its queue, if it is in one. */
void engine_dequeue(struct engine *engine, uint32_t task);

/* Evicts an executing task from its cluster: the nodes are free once the backend reports it. */
void engine_evict(struct engine *engine, uint32_t task);

/* Whether the event is the end of an evicted task. If so, its nodes are free now. */
bool engine_handle_evicted(struct engine *engine, const struct backend_event *event);

/* Handles the backend's BEGAN event, or STARTED if BEGAN was lost. */
void engine_handle_began(struct engine *engine, const struct backend_event *event);

/* Puts a restored task into the queue of its cluster; an executing task at the head. */
void engine_requeue(struct engine *engine, uint32_t task);

/*
 * To be called when a task completed or was dropped: updates the sufferage of its type (Gentry
 * 2019, V.D.2).
 */
void engine_note_deadline(struct engine *engine, uint32_t task, bool completed);

/* Starts the first task of every queue whose cluster is idle. No effect without queues. */
void engine_start_queues(struct engine *engine);

/* Fills in the queues of a snapshot. No effect without queues. */
void engine_list_queues(struct engine *engine, struct sched_snapshot *snapshot);

/*
 * The first deadline after `after_s` of a task that executes, if the policy evicts such tasks; of a
 * task that waits while all clusters are idle; or of a task queued on an idle cluster that keeps
 * its queue itself. INFINITY: none.
 */
double engine_next_deadline_s(const struct engine *engine, double after_s);
