/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * The experiment of Machovec 2018, section 6 (Tables 4 to 6) as a configuration built by hand. The
 * caller frees it with testbed_config_free().
 */
struct config *testbed_config_new(void);
void testbed_config_free(struct config *config);
