/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * What the guest agent of a VM (vm.h) is asked, be it for the VM itself or for the task that has it: one request
 * after the other, since an agent that hangs would hold all threads of its host's lane otherwise. Main loop only.
 */
struct vm;

#define VM_PATIENCE_S 15

/*
 * How long the agent may take to answer before it is taken to hang: VM_PATIENCE_S, and as many times as long as
 * the boot's deadline is longer than the default. Who gives a longer one says that VMs are slow on that vm, and so
 * is all that their agents do: where a boot took 270 s, an agent took more than 15 s to start a process.
 */
double vm_patience_s(const struct vm *vm);

/*
 * Sends `request` (agent.h; copied), as domain_agent() does and with what that says of `done`, after those before it
 * were answered; what has not been answered when the VM is freed never is. The agent may take vm_patience_s().
 * Where somebody else asks it, too, libvirt waits for its turn first, up to 30 s, and up to 5 s to get in step with one
 * that was late. A request whose turn comes when the VM is created anew is not sent: VIRT_ERROR_NO_DOMAIN.
 */
void vm_request(struct vm *vm, const char *request, host_done_f done, gpointer data);

/* When the agent answered last, whatever it had been asked (clock_now_ns()); 0: never. */
int64_t vm_heard_ns(const struct vm *vm);

/*
 * Whether a request made at `asked_ns` (clock_now_ns()) failed with `error` (VIRT_ERROR; NULL: it did not) only because
 * somebody else has, or had, paused the VM.
 */
bool vm_is_excused(const struct vm *vm, int64_t asked_ns, const GError *error);
