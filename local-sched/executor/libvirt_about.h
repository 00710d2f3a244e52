/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "local-sched/hypervisor/vm_host.h"

/*
 * Adds to `object` what hosts are and run: virt_type, virt_reason, hosts (name to facts), libvirt, qemu,
 * pinned. What they do not share is "mixed", what is not known yet null, or "unknown".
 */
void libvirt_about(struct vm_host *const *vm_hosts, uint32_t count, json_t *object);
