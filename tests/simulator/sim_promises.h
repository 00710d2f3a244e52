/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/simulator/sim_world.h"

/*
 * Invariants of a service over its lives, for which what was seen before has to be known, or what
 * the service has in memory: every attempt that a local scheduler executes is one of the service's
 * and is migrated as often as requested, tasks are planned on nodes that are up, what was submitted
 * keeps its priority, energy that is final stays so, no time is in an account and provisional, and
 * a host's counter that begins again is another one in the account.
 */
struct sim_promises;
typedef struct sim_promises sim_promises_t; /* for g_autoptr() */

struct sim_promises *sim_promises_new(void);
void sim_promises_free(struct sim_promises *promises);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sim_promises_t, sim_promises_free)

/* Checks them; to be called often. */
void sim_promises_check(struct sim_promises *promises, struct sim_world *world);
