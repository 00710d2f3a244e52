/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/migration_fsm.h"
#include "controller/engine/engine.h"

/*
 * The engine's internals: migrations of running tasks. Of each task the last one is kept. The
 * functions move both the migration and its task on.
 */
struct migrations;

/* Initialises engine->migrations, for tasks below tasks_max: no task was migrated. */
void engine_migrations_init(struct engine *engine, uint32_t tasks_max);
void engine_migrations_finish(struct engine *engine);

/* The state of a task's last migration. O(1). */
enum migration_state engine_migration_state(const struct engine *engine, uint32_t task);

/*
 * The nodes that VMs of a migrating task leave, *ret_count of them; on shared hosts one entry per
 * VM. Borrowed until the migration ends. O(1).
 */
const uint32_t *engine_migration_left(const struct engine *engine, uint32_t task,
				      uint32_t *ret_count);

/* Whether migrations of the task failed so often that it is suspended and resumed instead. */
bool engine_migration_retries_exhausted(const struct engine *engine, uint32_t task);

/*
 * Prepares the migration of a running task to `nodes`: its own nodes, or free ones. The caller
 * flushes the record and then calls engine_launch_migrate(), which asks the backend.
 */
void engine_begin_migrate(struct engine *engine, uint32_t task, const uint32_t *nodes,
			  bool by_person);
void engine_launch_migrate(struct engine *engine, uint32_t task);

/*
 * Handles the backend's MIGRATED and MIGRATION_FAILED events of the present attempt. Returns false
 * if the event has no effect.
 */
bool engine_handle_migration(struct engine *engine, const struct backend_event *event);

/* After a restart: puts back a migration that is under way. The arrays of `record` are copied. */
void engine_reattach_migration(struct engine *engine, const struct engine_migration *record);

/*
 * To be called when a task has ended or lost its attempt: it leaves no nodes any more. No effect if
 * no migration of it is under way.
 */
void engine_end_migration(struct engine *engine, uint32_t task);

/* For a full state: the last migration of a task, empty if there was none. After its state. */
json_t *engine_save_migration(const struct engine *engine, uint32_t task);
bool engine_load_migration(struct engine *engine, uint32_t task, const json_t *state);
