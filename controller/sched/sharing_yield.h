/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/sharing.h"

/*
 * The yields of all placed jobs, for the present placement. On no host the sum of yield x CPU need
 * exceeds 1.
 */

/* The least yield of a placed job (III.B): with less it would make no progress. */
#define SHARING_YIELD_MIN 0.01

/*
 * Gives all jobs the largest yield that all can get, 1 / max(1, largest load of a host) (III.A);
 * then calls sharing_raise_average(). Returns 0, or -ENOMEM.
 */
int sharing_yield_evenly(struct sharing *sharing);

/*
 * Distributes the CPU that is left (III.A): among the jobs that have a yield below 1 and CPU left
 * on all of their hosts, the job with the lowest total CPU need, ties to the lower id, is raised as
 * far as possible; and so on. No yield is lowered. Returns 0, or -ENOMEM. Cost: n log n for n
 * placed jobs, plus their VMs: a job that could not be raised once cannot be raised later.
 */
int sharing_raise_average(struct sharing *sharing);

/*
 * Distributes the CPU that is left for the average estimated stretch in `period_s` from now
 * (III.B): each time the job is raised as far as possible whose estimated stretch falls most per
 * unit of CPU by it, ties to the lower id. Returns 0, or -ENOMEM. Cost: n walks over the VMs of the
 * n placed jobs.
 */
int sharing_raise_stretch(struct sharing *sharing, double period_s);

/*
 * The estimated stretch (III.B) of a job after `period_s` at this yield: (flow time + period) /
 * (virtual time + yield x period).
 */
double sharing_stretch(const struct sharing_job *job, double yield, double period_s);

/* The yield that gives a job this estimated stretch after period_s, limited to 0.01 and 1. */
double sharing_stretch_yield(const struct sharing_job *job, double stretch, double period_s);
