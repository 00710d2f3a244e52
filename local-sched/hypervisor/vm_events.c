/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events that a VM gets from its vm_host: whether it was found on the host, and what the host
 * reports about it.
 */
#include "common/clock.h"
#include "common/platform.h"
#include "local-sched/hypervisor/vm_private.h"
#include "local-sched/hypervisor/vm_requests.h"

#define LOG_SUBSYSTEM "vm"
#include "common/log.h"

/* The VM was found on the host, and is the wanted one. */
static void found_ours(struct vm *vm, const struct domain_info *info)
{
	if (vm->state == VM_BUSY || vm->state == VM_HELD) {
		vm_reopen_ports(vm);
		vm_was_paused(vm, info->paused, info->failure);
	} else if (!info->paused) {
		vm->owner = VM_OWNER_ANY;
		vm->late_clock = true; /* a predecessor may have paused it */
		vm->shared = true;     /* its last task may have had a CPU share */
		vm->adopted = true;
		vm_fire(vm, VM_EVENT_ADOPT, NULL);
	} else if (vm->was_parked) {
		vm->clean = true;
		vm_fire(vm, VM_EVENT_PARK, NULL);
	} else {
		vm_fire(vm, VM_EVENT_FOREIGN, "its VM is paused");
	}
}

void vm_found(struct vm *vm, const struct domain_info *info)
{
	bool ours = info && g_strcmp0(info->description, vm->fingerprint) == 0;

	/*
	 * A VM of another keeper is ignored, whatever its name; creating the own one will fail and
	 * say so.
	 */
	if (info && g_strcmp0(info->keeper, vm->settings.keeper) != 0)
		info = NULL;
	if (vm->may_be_absent)
		return;
	if (!info)
		vm_fire(vm, VM_EVENT_DIED,
			vm->task ? "the VM died while its host was out of reach"
				 : "its VM was not booted yet");
	else if (ours && vm->wanted)
		found_ours(vm, info);
	else
		vm_fire(vm, VM_EVENT_FOREIGN, "a VM that is not the one wanted has its name");
}

void vm_disconnect(struct vm *vm, const char *reason)
{
	vm->was_parked = vm->state == VM_STANDBY || (vm->was_parked && vm->state == VM_DETACHED);
	vm_fire(vm, VM_EVENT_DETACH, reason);
	if (vm->may_be_absent)
		return;
	vm->clean = false;
	vm->cut_off = true;
	/* libvirt does not end streams when their connection is gone. */
	vm_close_ports(vm);
}

/*
 * While a VM is being created, the report may be about its predecessor; created_answer() finds out.
 */
void vm_stopped(struct vm *vm, const char *reason)
{
	if (vm->may_be_absent)
		return;
	if (vm->state == VM_CREATING)
		vm->doubtful = true;
	else
		vm_fire(vm, VM_EVENT_DIED, reason);
}

static gboolean agent_is_gone(gpointer data)
{
	struct vm *vm = data;

	if (vm->paused_ns)
		return G_SOURCE_CONTINUE;
	vm->agent_source = 0;
	vm_fire(vm, VM_EVENT_FAIL, "the guest agent is gone");
	return G_SOURCE_REMOVE;
}

void vm_agent_changed(struct vm *vm, bool connected)
{
	if (vm->stopped)
		return;
	vm->agent_up = connected;
	g_clear_handle_id(&vm->agent_source, g_source_remove);
	if (connected && vm->state == VM_AWAITING)
		vm_fire(vm, VM_EVENT_AGENT, NULL);
	else if (!connected && (vm->state == VM_READY || vm->state == VM_BUSY))
		vm->agent_source =
			platform_after_ms(vm_platform(vm), (guint)(vm_patience_s(vm) * 1000),
					  agent_is_gone, vm);
}

void vm_was_frozen(struct vm *vm, int64_t host_us)
{
	vm->frozen_us = host_us;
	/* A pause that a predecessor requested may happen only now. */
	if (vm->adopted && vm_is_booting(vm->state))
		vm_fire(vm, VM_EVENT_FAIL, "its VM was paused");
}

void vm_resumed(struct vm *vm)
{
	if (!vm->paused_ns)
		return;
	vm->unpaused_ns = platform_now_ns(vm_platform(vm));
	log_info_of(LOG_NODE(vm->settings.name),
		    "its VM runs again, after it was paused from outside for %.3f s",
		    clock_elapsed_s(vm->paused_ns, vm->unpaused_ns));
	vm->paused_ns = 0;
}

void vm_was_paused(struct vm *vm, bool paused, const char *failure)
{
	bool runs = vm->state == VM_READY || vm->state == VM_BUSY;
	g_autofree char *reason = failure ? g_strconcat("it was stopped by ", failure, NULL) : NULL;

	if (vm->stopped || !runs)
		return;
	if (!paused) {
		vm_resumed(vm);
	} else if (failure) {
		vm_fire(vm, VM_EVENT_FAIL, reason);
	} else if (!vm->paused_ns) {
		vm->paused_ns = platform_now_ns(vm_platform(vm));
		log_warning_of(LOG_LOCAL_NODE(vm->task, vm->settings.name),
			       "its VM was paused from outside%s",
			       vm->task ? "; the task waits for it" : "");
	}
}
