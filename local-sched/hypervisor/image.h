/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/hypervisor/host.h"

/*
 * The guest image on this vm (vm-images/) and on the hosts: its three files travel through
 * libvirt's storage pool `virtbed` as volumes named by their content, so that each is uploaded once
 * per host, and several local schedulers share it.
 */
enum image_file { IMAGE_KERNEL = 0, IMAGE_INITRAMFS, IMAGE_ROOT, IMAGE_FILES };

struct image {
	char *path[IMAGE_FILES];   /* on this vm */
	char *sha256[IMAGE_FILES]; /* as the manifest says; checked while uploading */
	uint64_t bytes[IMAGE_FILES];
};
typedef struct image image_t;

/* Paths of an image's files on a host. */
struct image_paths {
	char *path[IMAGE_FILES];
};
typedef struct image_paths image_paths_t;

/*
 * Reads manifest.json in `directory` and looks for the files. Returns NULL with `error`
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
 * Sees to it that the image is in the host's pool, which is made if need be: what is missing there, not as long as the
 * manifest says, or was written to since it was sent, is sent. `image` is borrowed until `done`. Result: struct
 * image_paths.
 */
void image_upload(struct host *host, const struct image *image, host_done_f done, gpointer data);

/*
 * Makes swap disks of `mib` MiB in the host's pool, ready for swapon(), one volume for each of
 * `names` (NULL-terminated); those of the right size that are there are kept. Result: their paths,
 * a GStrv.
 */
void image_make_swap(struct host *host, const char *const *names, uint64_t mib, host_done_f done,
		     gpointer data);

/* Removes the swap disks; those that are not there are no matter. No result. */
void image_remove_swap(struct host *host, const char *const *names, host_done_f done,
		       gpointer data);
