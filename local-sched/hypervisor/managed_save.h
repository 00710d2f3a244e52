/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * VMs that are kept on a host's disk: volumes of its pool (storage_volume_name()), which the host's libvirt
 * writes and reads. VMs and volumes are those of `keeper`. What comes of a call is told as by those of domain.h,
 * without a result.
 */

/* Saves a frozen VM and ends it. After a failure it is still there, frozen. */
void managed_save_file(struct host *host, const char *domain, const char *keeper, host_done_f done, gpointer data);

/* Sees to it that a saved VM is there, frozen. Its volume stays. */
void managed_save_restore(struct host *host, const char *domain, const char *keeper, host_done_f done, gpointer data);

/* Removes the volume of a VM if there is one. */
void managed_save_remove(struct host *host, const char *domain, const char *keeper, host_done_f done, gpointer data);

/*
 * Removes those of all VMs whose names are `prefix`, "n" and a number, and the swap disks of such
 * VMs but those disks named in `kept` (NULL-terminated, copied): what a predecessor had that died. Of `keeper` (NULL: of
 * all local schedulers); what none of them made is left alone.
 */
void managed_save_tidy(struct host *host, const char *prefix, const char *keeper, const char *const *kept, host_done_f done,
		gpointer data);
