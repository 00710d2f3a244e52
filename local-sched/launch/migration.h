/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/pool.h"
#include "local-sched/launch/migration_step.h"
#include "local-sched/launch/task_migration.h"

/*
 * Bringing VMs of one task to other nodes while the task runs, as often as it is asked for; the
 * steps and what is done when one fails are in migration_step.h. VMs keep their identity: names,
 * addresses and PMI ports go with them. Until a VM has gone, or stays, both of its nodes are its
 * own. At most HOST_MOVES_MAX VMs leave a host at a time; others wait. Main loop only.
 */
struct migration;

/* What came of a request. */
enum migration_end {
	MIGRATION_END_MOVED = 0, /* all VMs are where they were to go */
	MIGRATION_END_STAYED,    /* one at least runs where it was; the record tells which */
	MIGRATION_END_LOST,      /* one is gone, or cannot be used: the task is to be ended */
};

/* What a migration tells and asks of the task. All are required. */
struct migration_events {
	/*
	 * Whether no question to a guest is under way, and the ranks wait for nothing: asked again
	 * and again until it is so.
	 */
	bool (*is_quiet)(void *data);
	/* VMs begin to move; from now on nothing is asked of the guests, or sent to them. */
	void (*begins)(void *data);
	/* All are where they will be, and can be asked. */
	void (*moved)(void *data);
	/* The end of a request; `reason` is NULL where all have moved. */
	void (*ended)(enum migration_end end, const char *reason, void *data);
};

/* What a migration is of; borrowed until it is freed, the array is copied. */
struct migration_settings {
	const char *task; /* for messages */
	struct pool *pool;
	struct vm *const *vms; /* count of them, all busy with the task */
	uint32_t count;
};

struct migration *migration_new(const struct migration_settings *settings,
				const struct migration_events *events, void *data);

/* Frees it, also while something is under way; nothing is told any more. NULL is allowed. */
void migration_free(struct migration *migration);

/* Moves the VMs as the record (borrowed until `ended`) says; nodes that they go to are ready. */
void migration_start(struct migration *migration, struct task_migration *record);

/* What the migration waits for may have happened: a node is settled. */
void migration_go_on(struct migration *migration);

/* A VM's ports are open, or `error` says why not. */
void migration_wired(struct migration *migration, struct vm *vm, const GError *error);

/* A VM died and is not the task's any more: it boots at one of its nodes. The task ends. */
void migration_lost(struct migration *migration, const struct vm *vm);

/*
 * The task ends: nothing more is begun, what moves is to stop, and each step gets ten seconds at
 * most. In steps that hold (migration_step_holds()) `moved` comes when all is done, or `ended` where
 * a VM is lost; in others nothing is told any more, but that nodes that were left are down which
 * have no VM yet.
 */
void migration_abort(struct migration *migration);

/* Where it is. */
enum migration_step migration_step(const struct migration *migration);
