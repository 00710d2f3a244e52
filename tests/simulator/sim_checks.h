/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/simulator/sim_world.h"

/* The invariants of a world. */

/* Those that hold at any time, in memory. */
void sim_checks_now(struct sim_world *world);

/*
 * Whether all tasks have ended and nothing is in motion, as it has to be some time after the last
 * fault.
 */
bool sim_checks_quiet(struct sim_world *world, GString *ret_why);

/* Notes what the meters have counted, once all is quiet. */
void sim_checks_note_counters(struct sim_world *world);

/* Those of the stores, once all daemons have been stopped. */
void sim_checks_end(struct sim_world *world);
