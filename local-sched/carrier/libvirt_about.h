/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "local-sched/hypervisor/site.h"

/*
 * Adds to `object` what hosts are and run: virt_type, virt_reason, hosts (name to facts), libvirt, qemu,
 * pinned. What they do not share is "mixed", what is not known yet null, or "unknown".
 */
void libvirt_about(struct site *const *sites, uint32_t count, json_t *object);
