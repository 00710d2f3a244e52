/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * A configuration with the sections that the controller and the commands read and no local
 * scheduler does: the environments of the papers (`environment`) and what is varied over them
 * (`study`).
 */

/* As config_load(), with these sections. */
struct config *config_controller_load(const char *path, GError **error);

/* What config_controller_load() serves. */
extern const struct config_served config_controller;
