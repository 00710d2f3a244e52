/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The storage pool `virtbed` of a host: the guest image, swap disks and saved VMs are volumes in
 * it. All calls block: for worker threads (host.h). Errors are VIRT_ERROR.
 */

/* What the name of a VM's swap disk ends with. */
#define STORAGE_SWAP ".swap"

/* The pool, made if need be; `refresh` looks for volumes that others made. */
virStoragePoolPtr storage_open(virConnectPtr connection, bool refresh, GError **error);

/* Makes a sparse volume with these permissions; NULL: libvirt's last error says why not. */
virStorageVolPtr storage_create(virStoragePoolPtr pool, const char *name, uint64_t bytes,
				unsigned int mode);

/* Removes a volume if it is there. */
void storage_delete(virStoragePoolPtr pool, const char *name);

/* Whether a volume is there, as far as the pool knows. */
bool storage_exists(virStoragePoolPtr pool, const char *name);

/* Its path on the host; the caller frees it. NULL with `error` set where there is none. */
char *storage_path(virStoragePoolPtr pool, const char *name, GError **error);
