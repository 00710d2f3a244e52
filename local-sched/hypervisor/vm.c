/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A VM's life, and what its owner sets: its domain, its place, and whether it is wanted. */
#include "local-sched/hypervisor/vm_private.h"

/* Life. */

struct vm *vm_new(const struct vm_settings *settings, uint32_t cores,
		  const struct vm_events *events, void *data)
{
	struct vm *vm = g_new0(struct vm, 1);

	vm->settings = *settings;
	vm->cores = cores;
	vm->events = events;
	vm->data = data;
	vm->state = VM_DETACHED;
	vm->share = 1;
	vm->owner = VM_OWNER_ANY;
	vm->spread_core = -1;
	vm->reason = g_strdup("host not reached yet");
	vm->asked = g_hash_table_new_full(NULL, NULL, g_free, NULL);
	vm_make_ports(vm);
	return vm;
}

void vm_stop(struct vm *vm)
{
	vm->stopped = true;
	vm->user = NULL; /* late events for its task are dropped */
	vm->user_data = NULL;
	boot_queue_leave(vm->settings.queue, vm);
	g_clear_handle_id(&vm->step_source, g_source_remove);
	g_clear_handle_id(&vm->deadline_source, g_source_remove);
	g_clear_handle_id(&vm->agent_source, g_source_remove);
	g_clear_handle_id(&vm->reopen_source, g_source_remove);
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	vm_stop(vm);
	vm_free_ports(vm);
	g_hash_table_destroy(vm->asked);
	vm_free_requests(vm);
	g_free(vm->xml);
	g_free(vm->fingerprint);
	g_free(vm->reason);
	g_free(vm->task);
	g_free(vm);
}

void vm_prepare(struct vm *vm, const struct domain_spec *spec)
{
	g_free(vm->xml);
	g_free(vm->fingerprint);
	vm->xml = domain_xml(spec);
	vm->fingerprint = domain_fingerprint(spec);
}

/* Settings. */

void vm_set_place(struct vm *vm, const struct vm_place *place)
{
	vm->place = place;
	if (place && vm->state == VM_STANDBY)
		vm_fire(vm, VM_EVENT_UNPARK, NULL);
	else if (!place && vm->state == VM_READY)
		vm_fire(vm, VM_EVENT_PARK, NULL);
}

void vm_want(struct vm *vm, bool wanted)
{
	if (vm->wanted == wanted)
		return;
	vm->wanted = wanted;
	if (!wanted)
		vm_fire(vm, VM_EVENT_DISMISS, NULL);
	if (vm->state != VM_DOWN)
		return;
	g_clear_handle_id(&vm->step_source, g_source_remove);
	vm->failures = 0;
	vm_enter(vm);
}

void vm_inhibit_boot(struct vm *vm, bool inhibited)
{
	if (vm->boot_inhibited == inhibited)
		return;
	vm->boot_inhibited = inhibited;
	if (vm->state != VM_DOWN || vm->stopped)
		return;
	g_clear_handle_id(&vm->step_source, g_source_remove);
	vm_enter(vm);
}
