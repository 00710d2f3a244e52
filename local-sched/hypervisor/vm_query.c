/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a VM is and how it is. */
#include "local-sched/hypervisor/vm_private.h"

uint32_t vm_number(const struct vm *vm)
{
	return vm->settings.number;
}

const char *vm_name(const struct vm *vm)
{
	return vm->settings.name;
}

const char *vm_domain(const struct vm *vm)
{
	return vm->settings.domain;
}

const char *vm_keeper(const struct vm *vm)
{
	return vm->settings.keeper;
}

struct host *vm_current_host(const struct vm *vm)
{
	return vm->settings.host;
}

enum vm_state vm_state(const struct vm *vm)
{
	return vm->state;
}

const struct vm_place *vm_where(const struct vm *vm)
{
	return vm->place;
}

bool vm_wanted(const struct vm *vm)
{
	return vm->wanted;
}

bool vm_boot_is_inhibited(const struct vm *vm)
{
	return vm->boot_inhibited;
}

const char *vm_reason(const struct vm *vm)
{
	bool serves = vm->state == VM_READY || vm->state == VM_BUSY || vm->state == VM_HELD;

	if (serves)
		return vm->paused_ns ? "its VM was paused from outside" : NULL;
	if (vm->boot_inhibited)
		return "its VM may be on another host, which is out of reach";
	return vm->reason;
}

const char *vm_task(const struct vm *vm)
{
	return vm->task;
}

bool vm_was_cut_off(const struct vm *vm)
{
	return vm->cut_off;
}

double vm_boot_s(const struct vm *vm)
{
	return vm->boot_s;
}

bool vm_may_be_absent(const struct vm *vm)
{
	return vm->may_be_absent;
}

int64_t vm_frozen_us(const struct vm *vm)
{
	return vm->frozen_us;
}
