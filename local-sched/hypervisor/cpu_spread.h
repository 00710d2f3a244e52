/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Binds each core of a running VM to one of the CPUs that the VM may use, in rotation from number
 * `first_core` on, so that no two cores of a VM share a CPU where there are enough CPUs. A guest's
 * core that waits for another core that is not running spends the VM's quota. Without a binding,
 * the cores of a VM that is throttled most of the time stay on one CPU for minutes, and its tasks
 * take twice as long. On a worker thread. A repeated call changes nothing, unless the VM was
 * `moved`: it may then use all CPUs of its host before the binding.
 */
bool cpu_spread(virDomainPtr domain, uint32_t first_core, bool moved, GError **error);

/* Binds each core of a running VM to a CPU of its own, from `first_cpu` on. On a worker thread. */
bool cpu_pin(virDomainPtr domain, uint32_t first_cpu, GError **error);
