/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/*
 * Whether all of a testbed's energy is metered. Where a host has no meter its energy is not known:
 * no sum is the testbed's, and no energy limit can be held against it.
 */

/*
 * The first place without a meter, for messages: "host 'h1' of cluster 'c1' has no meter" (the
 * caller frees), or NULL: all hosts are metered. An emulated blade has one.
 */
char *run_meters_missing(const struct config *config);
