/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "local-sched/hypervisor/vm_host.h"

/*
 * Adds to `object` the facts about the hosts and how they run VMs: virt_type, virt_reason, hosts
 * (name to facts), libvirt, qemu, pinned. A value that differs between hosts is "mixed"; a value
 * that is not known yet is null, or "unknown".
 */
void libvirt_about(struct vm_host *const *vm_hosts, uint32_t count, json_t *object);
