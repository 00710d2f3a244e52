/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * The files that a configuration names and a local scheduler reads. They need not be there to check
 * or to simulate a configuration, only on the machine where the local scheduler runs.
 */

/*
 * Whether the files that the meters of `clusters[cluster]` need, passwords and certificates, can be
 * read here. Returns true, or false with `error` (CONFIG_ERROR_READ) that names the key in file
 * `path`, which is for that only.
 */
bool config_files_check(const struct config *config, const char *path, uint32_t cluster,
			GError **error);

/*
 * The guest image where the configuration names none: the directory $VIRTBED_IMAGE, else that of the
 * build or the installation which the running program is part of. The caller frees; NULL: there is none.
 */
char *config_files_image(void);

/*
 * Why there is no guest image in directory `image` (NULL: none is named, and none was found), the
 * caller's to free; NULL: there is one. What it holds is for the local scheduler to check.
 */
char *config_files_image_trouble(const char *image);
#define CONFIG_FILES_IMAGE_CURE "./testbed build makes it; or name one in image:"
