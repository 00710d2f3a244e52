/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/launch/migration.h"

/*
 * What migration.c (the sequence of steps) and migration_vm.c (a step for a VM) share. The second
 * names no function of the first.
 */

struct moving_vm {
	struct migration *migration;
	uint32_t index;
	struct vm *vm;
	struct node *from;
	struct node *to;
	bool moving; /* it is on its way to the host of `to`, or perhaps has arrived */
	bool gone;   /* it died; the task does not have it any more */
};

struct migration {
	char *task;
	struct pool *pool;
	uint32_t count;
	const struct vm_steps_events *events;
	void *data;
	struct vm_steps *steps;
	struct moving_vm *vms; /* count of them */
	struct task_migration *record;
	bool aborting;
	guint abort_source;
	guint quiet_source;
};

/* Starts the current step for a VM; false: there is nothing to do. `owner` is the migration. */
bool migration_vm_start(void *owner, uint32_t vm);
/* Whether to repeat the step for a VM after `error`, or after success (NULL). */
bool migration_vm_repeats(void *owner, uint32_t vm, const GError *error);

/* Whether the VM goes to another host. */
bool migration_vm_is_elsewhere(const struct moving_vm *moving);
/* Whether the VM is at its target node. */
bool migration_vm_has_moved(const struct moving_vm *moving);
/* The VM runs where it was. What its move has left on the other host is removed. */
void migration_vm_stayed(struct moving_vm *moving);
/* Gives up that of the VM's two nodes at which it is not, if it has two. */
void migration_vm_leave_node(struct moving_vm *moving);
/* The node that migration_vm_leave_node() gives up; NULL: the VM has only one. */
struct node *migration_vm_left(const struct moving_vm *moving);
