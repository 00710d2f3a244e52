/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/state.h"

/*
 * The inside of the engine: tasks that leave their nodes and go on, and tasks that run on at others, asked for by
 * policies and by people.
 */

/* suspension.c */

/*
 * How often in a row a step may be rolled back before it is not tried again: by policies, and where a
 * task would be migrated while it runs it is suspended and resumed then.
 */
#define ENGINE_STAYS_MAX 3

/* What is known of a task's suspensions, with room for its nodes; made if there is none. */
struct suspension *engine_suspension_of(struct engine *engine, uint32_t task);

/*
 * Readies a running task for its suspension: its nodes are free to be claimed. The backend is asked
 * by engine_launch_suspend(), after the record is flushed.
 */
void engine_begin_suspend(struct engine *engine, uint32_t task, bool by_person);
void engine_launch_suspend(struct engine *engine, uint32_t task);

/*
 * Readies a suspended task to go on at nodes of its cluster that are up and not occupied. Nodes that
 * are being left make it a claim instead. The backend is asked by engine_launch_resume().
 */
void engine_begin_resume(struct engine *engine, uint32_t task, const uint32_t *nodes);
void engine_launch_resume(struct engine *engine, uint32_t task);

/* How many of the nodes that were just made the task's are being left. */
uint32_t engine_leaving_nodes(const struct engine *engine, uint32_t task, const uint32_t *nodes);

/* Takes back the claims to a node. */
void engine_unclaim_node(struct engine *engine, uint32_t cluster, uint32_t node);

/* Takes back a claim: the task is mappable again. */
void engine_unclaim(struct engine *engine, uint32_t task);

/* SUSPENDED, RESUMED and STAYED of the present suspension of the present attempt. */
void engine_handle_suspension(struct engine *engine, const struct backend_event *event);

/*
 * A task in one of the states of a suspension is over, or its attempt is: it is no longer there.
 * To be called after its state has changed from `state`.
 */
void engine_end_suspension(struct engine *engine, uint32_t task, enum engine_task_state state);

/* A suspended task without a claim is mappable, or held. */
void engine_enqueue_suspended(struct engine *engine, uint32_t task);

/* ... and no longer. */
void engine_dequeue_suspended(struct engine *engine, uint32_t task);

/* Whether it is for a person, or the next window, to say when the task goes on. */
void engine_set_held(struct engine *engine, uint32_t task, bool held);

/* Whether a person, or a window that has begun, wants it to go on. */
void engine_set_wanted(struct engine *engine, uint32_t task, bool wanted);

/* Asks the backend to end tasks that are suspended or about to be. */
void engine_kill_suspended(struct engine *engine);

/*
 * VMs have left these nodes, or will not after all: who waited for that comes. Of shared hosts the list
 * says nothing.
 */
void engine_release_claims(struct engine *engine, uint32_t cluster, const uint32_t *nodes, uint32_t count);

/* migration.c */

/*
 * Readies a running task to go to other nodes, of which those that are not its own are free, while it
 * runs. The backend is asked by engine_launch_migrate(), after the record is flushed.
 */
void engine_begin_migrate(struct engine *engine, uint32_t task, const uint32_t *nodes,
			  bool by_person);
void engine_launch_migrate(struct engine *engine, uint32_t task);

/* Whether migrations of the task have failed so often that it is to be moved in another way. */
bool engine_migration_retries_exhausted(const struct engine *engine, uint32_t task);

/* Tells the recorder about the present migration of a task, or its last one. */
void engine_record_migration(struct engine *engine, uint32_t task);

/* MIGRATED and UNMOVED of the present attempt. */
void engine_handle_migration(struct engine *engine, const struct backend_event *event);

/* Its VMs are on their way, as `record` says, whose arrays are copied. */
void engine_reattach_migration(struct engine *engine, const struct engine_migration *record);

/* A task that was being migrated is over: it leaves nothing any more. */
void engine_end_migration(struct engine *engine, uint32_t task);

void engine_migrations_free(struct engine *engine);

/* control_running.c */

/* A person holds a task that is suspended, or is about to be. */
void engine_hold_suspended(struct engine *engine, uint32_t task);

/*
 * Whether a suspended task that nobody holds goes on without the policy: a person wants it, or the policy knows of no
 * suspended tasks, as one that took over from the one that suspended it.
 */
bool engine_is_wanted(const struct engine *engine, uint32_t task);

/* Such tasks go on where nodes are idle. */
void engine_resume_wanted(struct engine *engine);
