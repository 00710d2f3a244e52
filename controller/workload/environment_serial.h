/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/config/config_environment.h"
#include "controller/workload/environment.h"

/*
 * The simulated environment of Machovec 2017, section IV: serial tasks that arrive in bursts,
 * critical and ordinary ones, on clusters that are counted in cores; a node is a core. Choices that
 * the paper leaves open:
 *
 * - a cluster's cores are drawn uniformly around the configured number, which is the mean;
 * - the cluster whose execution times are drawn first is the first one (as for Machovec 2018);
 * - "the average execution time of the task", the width of a step, is that of its type over all
 *   clusters;
 * - urgencies count per minute, and the one decaying class decays towards 0;
 * - the 20 classes are those of environment_classes_draw(), one for each burst; a type has an
 *   urgency from Machovec 2018's Table 2, drawn from the row of its starting utility.
 *
 * Clusters, types, arrivals, classes and flags have streams of their own: a parameter that a sweep
 * varies leaves the rest of a trial unchanged.
 */

/*
 * Fills in the trial's system, names, workload and utility_max. config_environment(config)->serial
 * is there.
 */
void environment_serial_draw(struct environment_trial *trial, const struct config *config,
			     uint64_t seed, uint32_t number);

/*
 * The utility functions of section IV.C outside the classes: a constant of `mean_s` or 10 x
 * `mean_s`, which includes exactly its width, and a constant of `mean_s` with a decay of 200
 * minutes.
 */
struct utility environment_step(double max, bool critical, double mean_s);
struct utility environment_decay(double max, double mean_s);
