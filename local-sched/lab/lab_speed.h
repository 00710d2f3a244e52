/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * How much more CPU time emulated work takes at this moment than it did at first. A machine that is itself a
 * guest, or whose CPUs share caches with others, changes its speed by a tenth and more within
 * seconds; VMs whose quotas grow and shrink by the pace do the same work per second all the while.
 *
 * The measure is CPU time per round of the lab's metronome (lab_metronome.h): over the last LAB_SPEED_WINDOW
 * readings, against the mean of the first LAB_SPEED_REFERENCE_S seconds in which the lab's VMs were busy, for an
 * idle machine is faster than one in use. Pure: readings come in, a pace comes out.
 */

enum { LAB_SPEED_WINDOW = 2 };
#define LAB_SPEED_REFERENCE_S 30.0
#define LAB_SPEED_BUSY_CORES 0.5 /* VMs that use as much are busy */
/*
 * The pace's bounds: more would be more than the fifth of the machine that no VM has, and where the reference
 * was a slow half minute a usual one is far below.
 */
#define LAB_SPEED_MIN 0.6
#define LAB_SPEED_MAX CONFIG_LAB_STEADY_MOST

struct lab_speed_reading {
	int64_t at_ns;       /* monotonic */
	uint32_t rounds;     /* of the metronome; after 2^32, in two months or so, they begin anew */
	uint64_t cpu_ns;     /* its CPU time */
	uint64_t vms_ns;     /* CPU time of the lab's VMs */
};

struct lab_speed {
	struct lab_speed_reading readings[LAB_SPEED_WINDOW + 1]; /* oldest first */
	uint32_t count;
	double reference_s; /* how much of the reference there is */
	uint64_t reference_rounds;
	uint64_t reference_ns;
};

/*
 * Takes a reading, one a second or so, and returns the pace: above 1 while the machine is slower than it was.
 * 1 until there is a reference, and while the metronome stands still. Begin with a struct of zeros.
 */
double lab_speed_update(struct lab_speed *pace, const struct lab_speed_reading *reading);

/* Whether there is a reference, so that the pace is one. */
bool lab_speed_is_known(const struct lab_speed *pace);
