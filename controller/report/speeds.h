/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/json.h"
#include "controller/store/store.h"

/*
 * How many times as fast as the estimates the clusters of a measured run were. A simulated one may be, by its `speed`:
 * what its tasks took is held against estimates in simulated seconds.
 */

/* What a store says of that; NULL: nothing. A new reference. */
json_t *speeds_read(struct store *store);

/* The speed of a cluster; 1 where nothing is said of it. `speeds` may be NULL. */
double speeds_of(const json_t *speeds, const char *cluster);
