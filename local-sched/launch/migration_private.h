/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/migration.h"
#include "local-sched/launch/vm_steps.h"

/* What migration.c (from step to step) and migration_vm.c (what a step does for a VM) share. */

struct moving_vm {
	struct migration *migration;
	uint32_t index;
	struct vm *vm;
	struct node *from;
	struct node *to;
	bool moving; /* it is on its way to the host of `to`, or perhaps there */
	bool gone;   /* it died: it is neither the task's nor ours */
};

struct migration {
	char *task;
	struct pool *pool;
	uint32_t count;
	const struct migration_events *events;
	void *data;
	struct vm_steps *steps;
	struct moving_vm *vms; /* count of them */
	struct task_migration *record;
	bool aborting;
	guint abort_source;
	guint quiet_source;
};

/* What the current step does for a VM; false: nothing. `owner` is the migration. */
bool migration_vm_start(void *owner, uint32_t vm);
/* Whether it is to be tried again after `error`, or none. */
bool migration_vm_repeats(void *owner, uint32_t vm, const GError *error);

/* Whether it goes to another host. */
bool migration_vm_is_elsewhere(const struct moving_vm *moving);
/* Whether it is at the node that it was to go to. */
bool migration_vm_has_moved(const struct moving_vm *moving);
/* It runs on where it was; whatever came of it at the other host is removed. */
void migration_vm_stayed(struct moving_vm *moving);
/* Gives up the one of its two nodes that it is not at, if it has two. */
void migration_vm_leave_node(struct moving_vm *moving);
/* That node; NULL: it has only one. */
struct node *migration_vm_left(const struct moving_vm *moving);
