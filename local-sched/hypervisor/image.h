/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * The guest image (vm-images/) on this machine and on the hosts. Its three files go through
 * libvirt's storage pool `virtbed` as volumes that are named by their contents. Each file is
 * uploaded once per host, and several local schedulers share it.
 */
enum image_file { IMAGE_KERNEL = 0, IMAGE_INITRAMFS, IMAGE_ROOT, IMAGE_FILES };

struct image {
	char *path[IMAGE_FILES];   /* on this machine */
	char *sha256[IMAGE_FILES]; /* from the manifest; checked during the upload */
	uint64_t bytes[IMAGE_FILES];
};
typedef struct image image_t;

/* Paths of the image's files on a host. */
struct image_paths {
	char *path[IMAGE_FILES];
};
typedef struct image_paths image_paths_t;

/*
 * Reads manifest.json in `directory` and checks that the files are there. Returns NULL with `error`
 * (VIRT_ERROR_IMAGE) set.
 */
struct image *image_load(const char *directory, GError **error);
/* NULL is allowed. */
void image_free(struct image *image);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(image_t, image_free)

/* NULL is allowed. */
void image_paths_free(struct image_paths *paths);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(image_paths_t, image_paths_free)

/*
 * Brings the image into the host's pool, and creates the pool if there is none. Uploads each file
 * that is missing there, has another length than in the manifest, or was written to since its
 * upload. `image` is borrowed until `done`. Result: struct image_paths.
 */
void image_upload(struct host *host, const struct image *image, host_done_f done, gpointer data);

/*
 * Creates swap disks of `mib` MiB in the host's pool, ready for swapon(), one volume for each of
 * `names` (NULL-terminated). Existing volumes of the right size are kept. Result: their paths, a
 * GStrv.
 */
void image_make_swap(struct host *host, const char *const *names, uint64_t mib, host_done_f done,
		     gpointer data);

/* Removes the swap disks. A missing disk is success. No result. */
void image_remove_swap(struct host *host, const char *const *names, host_done_f done,
		       gpointer data);
