/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * VMs that are kept on a host's disk: volumes NAME.save of its pool, which the host's libvirt
 * writes and reads. What comes of a call is told as by those of domain.h, without a result.
 */

/* What the name of such a volume ends with. */
#define SAVED_SUFFIX ".save"

/* Saves a frozen VM and ends it. After a failure it is still there, frozen. */
void saved_save(struct host *host, const char *domain, host_done_f done, gpointer data);

/* Sees to it that a saved VM is there, frozen. Its volume stays. */
void saved_restore(struct host *host, const char *domain, host_done_f done, gpointer data);

/* Removes the volume of a VM if there is one. */
void saved_remove(struct host *host, const char *domain, host_done_f done, gpointer data);

/*
 * Removes those of all VMs whose names are `prefix`, "n" and a number, and the swap disks of such
 * VMs but those disks named in `kept` (NULL-terminated, copied): what a predecessor had that died.
 */
void saved_tidy(struct host *host, const char *prefix, const char *const *kept, host_done_f done,
		gpointer data);
