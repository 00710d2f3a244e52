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
 * Whether two meters ask the same BMC, by Redfish or by IPMI, as the same user: they share one
 * session there.
 */
bool config_files_share_bmc(const struct config_meter *a, const struct config_meter *b);

/*
 * The key in which two meters that share a BMC differ: "auth", "tls", "ipmi", "cipher_suite",
 * "privilege", "kg_file", "password_file" or "ca_file". Files are compared by their texts; a file
 * that cannot be read does not differ. NULL: they do not differ.
 */
const char *config_files_differ(const struct config_meter *a, const struct config_meter *b);

/*
 * Whether meters that share a BMC do not differ, in all clusters: a BMC has few sessions, and one
 * user has one password. Returns true, or false with CONFIG_ERROR_MEANING that names both.
 */
bool config_files_check_shared(const struct config *config, const char *path, GError **error);
