/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * VMs saved on a host's disk, as volumes of its pool (storage_volume_name()) that the host's
 * libvirt writes and reads. VMs and volumes are those of `keeper`. Each call reports its end by
 * `done`, as those of domain.h do, without a result.
 */

/* Saves a frozen VM and ends it. After a failure the VM still exists, frozen. */
void managed_save_file(struct host *host, const char *domain, const char *keeper, host_done_f done,
		       gpointer data);

/* Restores a saved VM, frozen, unless it exists already. Its volume stays. */
void managed_save_restore(struct host *host, const char *domain, const char *keeper,
			  host_done_f done, gpointer data);

/* Removes a VM's volume if there is one. */
void managed_save_remove(struct host *host, const char *domain, const char *keeper,
			 host_done_f done, gpointer data);

/*
 * Removes the leftovers of a predecessor that died: the saved volumes of all VMs whose names are
 * `prefix`, "n" and a number, and the swap disks of such VMs except those named in `kept`
 * (NULL-terminated, copied). Removes those of `keeper` (NULL: of all local schedulers). Volumes
 * that no local scheduler made are left alone.
 */
void managed_save_tidy(struct host *host, const char *prefix, const char *keeper,
		       const char *const *kept, host_done_f done, gpointer data);
