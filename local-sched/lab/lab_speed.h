/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"

/*
 * The speed factor: how much more CPU time emulated work takes now than at first. A machine that is
 * itself a guest, or whose CPUs share caches with others, changes its speed by a tenth and more
 * within seconds. VMs whose quotas are scaled by the factor do constant work per second all the
 * while.
 *
 * The measure is CPU time per round of the gauge (lab_metronome.h): over the last LAB_SPEED_WINDOW
 * readings, against the mean of the first LAB_SPEED_REFERENCE_S seconds in which the lab's VMs were
 * busy, because an idle machine is faster than a busy one. Pure: readings come in, a factor comes
 * out.
 */

enum { LAB_SPEED_WINDOW = 2 };
#define LAB_SPEED_REFERENCE_S 30.0
#define LAB_SPEED_BUSY_CORES 0.5 /* VMs that use as much are busy */
/*
 * Bounds of the factor. A higher one would exceed the fifth of the machine that no VM has. Where
 * the reference was a slow half minute, the usual factor is far below 1.
 */
#define LAB_SPEED_MIN 0.6
#define LAB_SPEED_MAX CONFIG_LAB_STEADY_MOST

struct lab_speed_reading {
	int64_t at_ns;   /* monotonic */
	uint32_t rounds; /* of the gauge; wraps around after 2^32, in two months or so */
	uint64_t cpu_ns; /* CPU time of the gauge */
	uint64_t vms_ns; /* CPU time of the lab's VMs */
};

struct lab_speed {
	struct lab_speed_reading readings[LAB_SPEED_WINDOW + 1]; /* oldest first */
	uint32_t count;
	double reference_s; /* seconds of the reference so far */
	uint64_t reference_rounds;
	uint64_t reference_ns;
};

/*
 * Adds a reading, about one a second, and returns the factor: above 1 while the machine is slower
 * than it was. 1 until the reference is complete, and while the gauge stands still. Begin with a
 * struct of zeros.
 */
double lab_speed_update(struct lab_speed *pace, const struct lab_speed_reading *reading);

/* Whether the reference is complete, so that the factor is measured. */
bool lab_speed_is_known(const struct lab_speed *pace);
