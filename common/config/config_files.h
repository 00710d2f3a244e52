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
