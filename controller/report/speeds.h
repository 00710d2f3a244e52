/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/json.h"
#include "controller/store/store.h"

/*
 * The speeds of the clusters of a measured run relative to the estimates. A simulated executor may
 * have a `speed`: measured times of its tasks are compared with estimates in simulated seconds.
 */

/* The speeds recorded in a store; NULL: none. A new reference. */
json_t *speeds_read(struct store *store);

/* The speed of a cluster; 1 where none is recorded. `speeds` may be NULL. */
double speeds_of(const json_t *speeds, const char *cluster);
