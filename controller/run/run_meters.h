/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * Whether every host of a testbed has a meter. Without one the host's energy is unknown, the sum
 * over the testbed is incomplete, and no energy limit can be enforced.
 */

/* Whether a host has a meter. */
bool run_meters_has(const struct config_host *host);

/*
 * The first host without a meter, for messages: "host 'h1' of cluster 'c1' has no meter" (the
 * caller frees); NULL: all hosts have one. An emulated blade always has one.
 */
char *run_meters_missing(const struct config *config);
