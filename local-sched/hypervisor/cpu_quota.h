/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>

#include "local-sched/cpu/cpu_cap.h"

/*
 * Sets the CPU quota of a running VM by libvirt's scheduler parameters global_period and
 * global_quota, and reads it back. Does nothing where the cap is not of kind CPU_CAP_QUOTA. On a
 * worker thread; may be repeated. Returns false with `error` (VIRT_ERROR) if the quota cannot be
 * set; the VM then keeps the quota that it had.
 */
bool cpu_quota_apply(const struct cpu_cap *cap, virDomainPtr domain, GError **error);
