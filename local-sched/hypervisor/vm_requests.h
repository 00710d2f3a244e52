/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * Requests to the guest agent of a VM (vm.h), for the VM itself or for the task that has it. They
 * are sent one after the other, because an agent that hangs would otherwise block all threads of
 * its host's lane. Main loop only.
 */
struct vm;

#define VM_PATIENCE_S 15

/*
 * How long the agent may take to answer before it counts as hung: VM_PATIENCE_S, times the ratio of
 * the boot's deadline to the default if the deadline is longer. A longer deadline is configured
 * where VMs are slow, and their agents are slow with them: where a boot took 270 s, an agent took
 * more than 15 s to start a process.
 */
double vm_patience_s(const struct vm *vm);

/*
 * Sends `request` (agent.h; copied) after the requests before it were answered, and calls `done` as
 * domain_agent() does. A request that is not answered when the VM is freed is never answered. The
 * agent may take vm_patience_s(). Where another client asks it too, libvirt waits up to 30 s for
 * its turn, and up to 5 s to get in step with an agent that was late. A request whose turn comes
 * after the VM was created again is not sent: VIRT_ERROR_NO_DOMAIN.
 */
void vm_request(struct vm *vm, const char *request, host_done_f done, gpointer data);

/* When the agent answered last, whatever the request (platform_now_ns()); 0: never. */
int64_t vm_heard_ns(const struct vm *vm);

/*
 * Whether a request made at `asked_ns` of the platform's clock failed with `error` (VIRT_ERROR;
 * NULL: it did not) only because the VM is, or was, paused from outside.
 */
bool vm_is_excused(const struct vm *vm, int64_t asked_ns, const GError *error);
