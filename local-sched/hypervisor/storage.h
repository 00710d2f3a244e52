/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <libvirt/libvirt.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The storage pool `virtbed` of a host. The guest image, swap disks and saved VMs are volumes in
 * it. All calls block: call them on worker threads (host.h). Errors are VIRT_ERROR.
 */

/* The ends of the names of a VM's swap disk and of the volume in which it is saved. */
#define STORAGE_SWAP ".swap"
#define STORAGE_SAVED ".save"

/*
 * The name of a volume of VM `domain`: "DOMAIN.KEEPER.swap". A volume has no metadata, so its name
 * says which local scheduler (its keeper) made it. The caller frees it.
 */
char *storage_volume_name(const char *domain, const char *keeper, const char *suffix);

/*
 * Whether `volume` is the name of a volume of a VM called `prefix`, "n" and a number, with any end,
 * that belongs to `keeper` (NULL: to any local scheduler). Other programs made all other volumes.
 * Pure.
 */
bool storage_is_of_cluster(const char *volume, const char *prefix, const char *keeper);

/* Opens the pool, and creates it if there is none. `refresh` looks for volumes that others made. */
virStoragePoolPtr storage_open(virConnectPtr connection, bool refresh, GError **error);

/* Creates a sparse volume with these permissions. NULL: libvirt's last error says why not. */
virStorageVolPtr storage_create(virStoragePoolPtr pool, const char *name, uint64_t bytes,
				unsigned int mode);

/* Sends `length` bytes, which `give` provides piece by piece, to the start of the volume. */
bool storage_upload(virStorageVolPtr volume, uint64_t length, virStreamSourceFunc give, void *data,
		    GError **error);

/*
 * Reads a volume that is a small file: its text, at most `limit` bytes. The caller frees it. NULL
 * with `error`.
 */
char *storage_read(virStorageVolPtr volume, size_t limit, GError **error);
/* Replaces the contents of a volume by `length` bytes. */
bool storage_write(virStorageVolPtr volume, const char *bytes, size_t length, GError **error);

/*
 * Whether `bytes` more fit into the pool. False with `error` (VIRT_ERROR_FULL), which says how much
 * is free, how much `what` needs, and what to do. True where that cannot be found out.
 */
bool storage_has_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error);

/*
 * Adds to *error that the pool has less than `bytes` left, if that is so. For an operation that has
 * failed and that needs as much.
 */
void storage_blame_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error);

/*
 * The names of all volumes that the pool knows, NULL-terminated; the caller frees them. NULL with
 * `error`.
 */
char **storage_list(virStoragePoolPtr pool, GError **error);

/* Removes a volume if it is there. */
void storage_delete(virStoragePoolPtr pool, const char *name);

/* Whether the pool knows a volume of this name. */
bool storage_exists(virStoragePoolPtr pool, const char *name);

/* Whether the volume exists and holds `bytes` bytes. */
bool storage_has_size(virStoragePoolPtr pool, const char *name, uint64_t bytes);

/*
 * The time of the last write to a volume, in seconds of its host's clock since 1970; 0: not known.
 */
double storage_written_s(virStoragePoolPtr pool, const char *name);

/*
 * The volume's path on the host; the caller frees it. NULL with `error` set if there is no such
 * volume.
 */
char *storage_path(virStoragePoolPtr pool, const char *name, GError **error);
