/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/* The rows of a whole file. */
struct config_root {
	struct config_key keys[24];
	struct config_section section;
};

/*
 * Makes *ret_root the rows of a file for `served` (NULL: nothing beside the sections above).
 * Returns its section, which is valid as long as *ret_root.
 */
const struct config_section *config_root_init(const struct config_served *served,
					      struct config_root *ret_root);
