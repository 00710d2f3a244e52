/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/hypervisor/domain.h"
#include "local-sched/hypervisor/managed_save.h"
#include "local-sched/hypervisor/virt_error.h"
#include "local-sched/launch/suspension_private.h"

static gpointer call_new(struct suspended_vm *suspended)
{
	return vm_steps_call(suspended->suspension->steps, suspended->index);
}

static struct task_vm_durations *times(const struct suspended_vm *suspended)
{
	return &suspended->suspension->record->vms[suspended->index];
}

static bool freeze_vm(struct suspended_vm *suspended)
{
	domain_freeze(vm_current_host(suspended->vm), vm_domain(suspended->vm), vm_steps_answer,
		      call_new(suspended));
	return true;
}

static void vm_frozen(struct suspended_vm *suspended, int64_t took_ns)
{
	times(suspended)->freeze_ns = took_ns;
}

static bool thaw_vm(struct suspended_vm *suspended)
{
	domain_thaw(vm_current_host(suspended->vm), vm_domain(suspended->vm), vm_steps_answer,
		    call_new(suspended));
	return true;
}

static void vm_goes(struct suspended_vm *suspended, int64_t took_ns)
{
	times(suspended)->resume_ns = took_ns;
}

static bool save_vm(struct suspended_vm *suspended)
{
	vm_allow_absence(suspended->vm, true);
	suspended->image = true;
	managed_save_file(vm_current_host(suspended->vm), vm_domain(suspended->vm),
			  vm_keeper(suspended->vm), vm_steps_answer, call_new(suspended));
	return true;
}

static void vm_saved(struct suspended_vm *suspended, int64_t took_ns)
{
	suspended->saved = true;
	times(suspended)->save_ns = took_ns;
}

static bool restore_vm(struct suspended_vm *suspended)
{
	if (!suspended->saved)
		return false;
	managed_save_restore(vm_current_host(suspended->vm), vm_domain(suspended->vm),
			     vm_keeper(suspended->vm), vm_steps_answer, call_new(suspended));
	return true;
}

static void vm_restored(struct suspended_vm *suspended, int64_t took_ns)
{
	suspended->saved = false;
	suspended->settled = NULL;
	vm_allow_absence(suspended->vm, false);
	times(suspended)->restore_ns = took_ns;
}

bool suspension_vm_is_elsewhere(const struct suspended_vm *suspended)
{
	return vm_current_host(suspended->vm) != vm_host_host(node_vm_host(suspended->node));
}

static bool move_vm(struct suspended_vm *suspended)
{
	if (!suspension_vm_is_elsewhere(suspended))
		return false;
	suspended->moving = true;
	vm_allow_absence(suspended->vm, true);
	pool_move(suspended->suspension->pool, suspended->vm, suspended->node,
		  suspended->saved ? TRANSFER_SAVED : TRANSFER_STILL, vm_steps_answer,
		  call_new(suspended));
	return true;
}

static void vm_arrived(struct suspended_vm *suspended)
{
	pool_arrived(suspended->suspension->pool, suspended->vm, suspended->node);
	vm_allow_absence(suspended->vm, suspended->saved);
	suspended->moving = false;
	suspended->settled = NULL;
}

static void vm_moved(struct suspended_vm *suspended, int64_t took_ns)
{
	vm_arrived(suspended);
	times(suspended)->move_ns = took_ns;
}

static void vm_stayed(struct suspended_vm *suspended)
{
	pool_stayed(suspended->suspension->pool, suspended->vm, suspended->node);
	vm_allow_absence(suspended->vm, suspended->saved);
	suspended->moving = false;
}

/* `result` is an enum transfer_place. */
static void located(gpointer result, const GError *error, gpointer data)
{
	uint32_t i;
	struct suspension *suspension = vm_steps_answered(data, &i);

	if (!suspension)
		return;
	if (error && suspension_vm_repeats(suspension, i, error)) {
		vm_steps_repeat(suspension->steps, i);
		return;
	}
	if (!error && GPOINTER_TO_INT(result) == TRANSFER_TO)
		vm_arrived(&suspension->vms[i]);
	else if (!error)
		vm_stayed(&suspension->vms[i]);
	vm_steps_done(suspension->steps, i, error);
}

/* A saved VM is where it was until its copy is complete. */
static bool locate_vm(struct suspended_vm *suspended)
{
	if (suspended->moving && suspended->saved)
		vm_stayed(suspended);
	if (!suspended->moving)
		return false;
	pool_find(suspended->suspension->pool, suspended->vm, suspended->node, TRANSFER_STILL,
		  located, call_new(suspended));
	return true;
}

/* VMs whose saving failed may exist or not. */
static bool unsave_vm(struct suspended_vm *suspended)
{
	suspended->saved = true;
	return restore_vm(suspended);
}

static bool place_vm(struct suspended_vm *suspended)
{
	if (vm_where(suspended->vm) == suspended->settled)
		return false;
	vm_steps_place(suspended->suspension->steps, suspended->index, suspended->vm);
	return true;
}

static void vm_placed(struct suspended_vm *suspended, int64_t took_ns)
{
	suspended->settled = vm_where(suspended->vm);
}

static bool wire_vm(struct suspended_vm *suspended)
{
	vm_rewire(suspended->vm);
	return true;
}

static bool set_clock(struct suspended_vm *suspended)
{
	vm_steps_set_clock(suspended->suspension->steps, suspended->index, suspended->vm);
	return true;
}

static const struct {
	bool (*start)(struct suspended_vm *suspended);
	/* NULL: no duration is recorded */
	void (*good)(struct suspended_vm *suspended, int64_t took_ns);
} actions[SUSPENSION_STEPS] = {
	[SUSPENSION_FREEZING] = {freeze_vm, vm_frozen},
	[SUSPENSION_SAVING] = {save_vm, vm_saved},
	[SUSPENSION_MOVING] = {move_vm, vm_moved},
	[SUSPENSION_RESTORING] = {restore_vm, vm_restored},
	[SUSPENSION_PLACING] = {place_vm, vm_placed},
	[SUSPENSION_WIRING] = {wire_vm, NULL},
	[SUSPENSION_CONTINUING] = {thaw_vm, vm_goes},
	[SUSPENSION_CLOCKING] = {set_clock, NULL},
	[SUSPENSION_UNSAVING] = {unsave_vm, vm_restored},
	[SUSPENSION_REWIRING] = {wire_vm, NULL},
	[SUSPENSION_THAWING] = {thaw_vm, NULL},
	[SUSPENSION_LOCATING] = {locate_vm, NULL},
	[SUSPENSION_REFREEZING] = {freeze_vm, NULL},
};

bool suspension_vm_start(void *owner, uint32_t suspended)
{
	struct suspension *suspension = owner;

	return actions[vm_steps_current(suspension->steps)].start(&suspension->vms[suspended]);
}

void suspension_vm_good(void *owner, uint32_t vm, int64_t took_ns)
{
	struct suspension *suspension = owner;
	const guint step = vm_steps_current(suspension->steps);

	if (actions[step].good)
		actions[step].good(&suspension->vms[vm], took_ns);
}

/* An agent may be reachable only a moment after its VM was restored. */
bool suspension_vm_repeats(void *owner, uint32_t vm, const GError *error)
{
	const struct suspension *suspension = owner;
	const guint step = vm_steps_current(suspension->steps);

	/*
	 * The place of a VM that is not wanted any more is not waited for while its host is out of
	 * reach.
	 */
	if (suspension->cancelling && step == SUSPENSION_LOCATING)
		return false;
	if (step == SUSPENSION_CLOCKING)
		return error ? !g_error_matches(error, VIRT_ERROR, VIRT_ERROR_REFUSED)
			     : vm_steps_is_clock_late(suspension->steps, vm);
	return error && suspension_steps.steps[step].is_rollback &&
	       g_error_matches(error, VIRT_ERROR, VIRT_ERROR_CONNECTION);
}
