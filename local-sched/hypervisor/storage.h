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

/* What the names of a VM's swap disk, and of the volume that it is saved in, end with. */
#define STORAGE_SWAP ".swap"
#define STORAGE_SAVED ".save"

/*
 * The name of a volume of VM `domain`: "DOMAIN.KEEPER.swap". A volume has no metadata: that it was made by the local
 * scheduler of that id (its keeper) is known by its name. The caller frees it.
 */
char *storage_volume_name(const char *domain, const char *keeper, const char *suffix);

/*
 * Whether `volume` is the name of a volume of a VM `prefix`, "n" and a number, whatever it ends with, that belongs to
 * `keeper` (NULL: to any local scheduler). Any other was made by somebody else. Pure.
 */
bool storage_is_of_cluster(const char *volume, const char *prefix, const char *keeper);

/* The pool, made if need be; `refresh` looks for volumes that others made. */
virStoragePoolPtr storage_open(virConnectPtr connection, bool refresh, GError **error);

/* Makes a sparse volume with these permissions; NULL: libvirt's last error says why not. */
virStorageVolPtr storage_create(virStoragePoolPtr pool, const char *name, uint64_t bytes,
				unsigned int mode);

/* Sends `length` bytes, which `give` provides piece by piece, to the start of the volume. */
bool storage_upload(virStorageVolPtr volume, uint64_t length, virStreamSourceFunc give, void *data, GError **error);

/* A small file as a volume: its text, at most `limit` bytes of it, the caller's to free; NULL with `error`. */
char *storage_read(virStorageVolPtr volume, size_t limit, GError **error);
/* Writes `length` bytes, all that there is in it. */
bool storage_write(virStorageVolPtr volume, const char *bytes, size_t length, GError **error);

/*
 * Whether `bytes` more fit into the pool; false with `error` (VIRT_ERROR_FULL), which says what is free, what `what` needs,
 * and what to do. Where that cannot be found out they do.
 */
bool storage_has_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error);

/* After something failed with *error for which the pool needs `bytes` more: adds that it has less, where that is so. */
void storage_blame_room(virStoragePoolPtr pool, const char *what, uint64_t bytes, GError **error);

/* The names of all volumes, as far as the pool knows, NULL-terminated; the caller frees them. NULL with `error`. */
char **storage_list(virStoragePoolPtr pool, GError **error);

/* Removes a volume if it is there. */
void storage_delete(virStoragePoolPtr pool, const char *name);

/* Whether a volume is there, as far as the pool knows. */
bool storage_exists(virStoragePoolPtr pool, const char *name);

/* Whether a volume is there and holds `bytes` bytes. */
bool storage_has_size(virStoragePoolPtr pool, const char *name, uint64_t bytes);

/* When it was written to last, in seconds of its host's clock since 1970; 0: that is not known. */
double storage_written_s(virStoragePoolPtr pool, const char *name);

/* Its path on the host; the caller frees it. NULL with `error` set where there is none. */
char *storage_path(virStoragePoolPtr pool, const char *name, GError **error);
