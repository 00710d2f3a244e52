/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/sharing.h"

/*
 * Allocations for all jobs at once (Stillwell 2010, III.B): a binary search for the best target,
 * each step of which is a packing by MCB8 (mcb8.h) of the jobs' CPU requirements, yield x need, and
 * their memory. Tasks with the same larger requirement are packed by decreasing priority of their
 * jobs, then by id. If no target can be reached, the job with the lowest priority, ties to the
 * higher id, is left out and the search begins again.
 *
 * Both searches lift all jobs and place those that are packed; the others are paused, or keep
 * waiting. Busy jobs stay where they are, with the yield of the target, and the others share the
 * rest. They return 0, or -ENOMEM. Cost: n log n for n jobs, at most 9 packings, and for each job
 * that is left out at most two; jobs for which there is not enough memory altogether are left out
 * at once.
 */

/* The intervals at which the searches end: of the yield, and of the stretch relative to itself. */
#define SHARING_PACK_YIELD_STEP 0.01
#define SHARING_PACK_STRETCH_STEP 0.01

/*
 * Finds the largest yield that all jobs can have: tries 1, then SHARING_YIELD_MIN, then halves the
 * interval until it is at most 0.01, and keeps the last possible packing. The yields are those of
 * sharing_yield_evenly(), which gives at least that yield.
 */
int sharing_pack_yield(struct sharing *sharing);

/*
 * Finds the smallest estimated stretch after `period_s` that all jobs can stay below, between 1 and
 * the largest stretch at a yield of SHARING_YIELD_MIN, to 1 % of itself; each job has the yield
 * that its target needs. The yields are those of the target and sharing_raise_stretch().
 */
int sharing_pack_stretch(struct sharing *sharing, double period_s);
