/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls to a VM's host. An answer counts only while the VM is in the state that the call is for. */
#include "local-sched/hypervisor/vm_private.h"

struct vm_call {
	struct vm *vm;
	guint generation;
	vm_answer_f answer;
};

gpointer vm_call_new(struct vm *vm, vm_answer_f answer)
{
	struct vm_call *vm_call = g_new0(struct vm_call, 1);

	vm_call->vm = vm;
	vm_call->generation = vm->generation;
	vm_call->answer = answer;
	g_hash_table_add(vm->asked, vm_call);
	return vm_call;
}

/* Ends a call, and passes its result (borrowed) on if it still counts. */
static void pass_on(struct vm_call *vm_call, gpointer result, const GError *error)
{
	struct vm *vm = vm_call->vm;
	const struct vm_call taken = *vm_call;

	g_hash_table_remove(vm->asked, vm_call);
	if (vm->generation == taken.generation && !vm->stopped)
		taken.answer(vm, result, error);
}

void vm_call_answered(gpointer result, const GError *error, gpointer data)
{
	g_autofree char *text = result == HOST_DONE ? NULL : result;

	pass_on(data, text, error);
}

void vm_call_listed(gpointer result, const GError *error, gpointer data)
{
	g_autoptr(GPtrArray) found = result;

	pass_on(data, found, error);
}
