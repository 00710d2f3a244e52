/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A VM and its task: assigned to it, held while the task is suspended, and released. */
#include "local-sched/hypervisor/vm_private.h"

bool vm_usable_by(const struct vm *vm, int64_t owner)
{
	return owner < 0 || vm->owner == VM_OWNER_NONE || vm->owner == owner;
}

void vm_recycle(struct vm *vm)
{
	vm_fire(vm, VM_EVENT_RENEW, "it is booted again for another user");
}

bool vm_assign(struct vm *vm, const char *task, int64_t owner, const struct vm_user *user,
	       void *data)
{
	if (vm->state != VM_READY || vm->stopped)
		return false;
	vm->user = user;
	vm->user_data = data;
	vm->task = g_strdup(task);
	vm->owner = owner;
	vm->clean = false;
	vm->cut_off = false;
	vm_fire(vm, VM_EVENT_ASSIGN, NULL);
	return true;
}

void vm_release(struct vm *vm, bool clean)
{
	bool whole = !vm->shared;

	vm->clean = clean;
	vm->share = 1;
	/* The sweep also sets the cap again. */
	vm_fire(vm, clean && whole ? VM_EVENT_RELEASE : VM_EVENT_SWEEP,
		vm->state == VM_HELD ? "its task ended while it was suspended" : NULL);
}

void vm_fail(struct vm *vm, const char *reason)
{
	vm_fire(vm, VM_EVENT_FAIL, reason);
}

/* Suspension. */

void vm_hold(struct vm *vm)
{
	g_clear_handle_id(&vm->agent_source, g_source_remove);
	g_clear_handle_id(&vm->reopen_source, g_source_remove);
	vm->frozen_us = 0;
	vm_resumed(vm); /* from now on the suspension decides whether it runs */
	vm_fire(vm, VM_EVENT_HOLD, NULL);
}

/* Ports that were cut off meanwhile are opened now, or when the host is back (found_ours()). */
void vm_unhold(struct vm *vm)
{
	vm_fire(vm, VM_EVENT_LET_GO, NULL);
	if (vm->state == VM_BUSY)
		vm_reopen_soon(vm);
}

void vm_allow_absence(struct vm *vm, bool allowed)
{
	vm->may_be_absent = allowed;
}
