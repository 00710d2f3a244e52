/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/pool.h"
#include "local-sched/launch/migration_step.h"
#include "local-sched/launch/task.h"
#include "local-sched/launch/vm_steps.h"

/*
 * Migrates VMs of a task to other nodes while the task runs, repeatedly. The steps and their
 * rollback are in migration_step.h. VMs keep their identity: names, addresses and PMI ports go with
 * them. Until a VM has arrived, or has stayed, it occupies both of its nodes. At most
 * HOST_MOVES_MAX VMs leave a host at a time; others wait. Main loop only.
 */
struct migration;

/*
 * Creates a migration for the VMs of `task`. `vms` has a VM for each of its nodes, in the same
 * order, all busy with the task; the array is copied. `pool`, the VMs, `events` and `data` are
 * borrowed until the migration is freed, `task` is only read.
 */
struct migration *migration_new(const struct task *task, struct pool *pool, struct vm *const *vms,
				const struct vm_steps_events *events, void *data);

/* Frees it, also while calls are under way, without an event. NULL is allowed. */
void migration_free(struct migration *migration);

/* Moves the VMs as the record (borrowed until `ended` or `lost`) says. The target nodes must be ready. */
void migration_start(struct migration *migration, struct task_migration *record);

/* Continues if what the migration waits for has happened: a node is settled. */
void migration_proceed(struct migration *migration);

/* A VM's ports are open, or `error` says why not. */
void migration_wired(struct migration *migration, struct vm *vm, const GError *error);

/* A VM died and the task does not have it any more; it boots at one of its nodes. The task ends. */
void migration_lost(struct migration *migration, const struct vm *vm);

/*
 * The task ends. No move begins any more, moves under way are stopped, and each step gets at most
 * ten seconds. In steps that hold (vm_step.h), `released` follows when all is done, or `lost` where
 * a VM is lost. In other steps no event follows, except that nodes that VMs have left are reported
 * down while they have no VM.
 */
void migration_abort(struct migration *migration);

/* The current step. */
enum migration_step migration_step(const struct migration *migration);
