/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/engine/engine.h"

/*
 * The outcome of a run on clusters with queues (Gentry 2019, VI.B and VII): the share of tasks that
 * were on time, how evenly it is distributed over the task types, and the cost of the clusters.
 *
 * While queues fill up at the beginning and run dry at the end the system is not oversubscribed:
 * the first and the last tasks to leave it, completed or dropped, do not count (VI.B).
 */
struct robustness {
	uint32_t counted; /* tasks that count */
	uint32_t on_time; /* those of them that were on time */
	double share;     /* on_time / counted, in [0, 1] */
	/*
	 * The population variance, over the types, of the share of their tasks that were on time.
	 * Types without a counted task are left out. Shares are in [0, 1]: 0.06 is what Fig. 6
	 * calls 6 %.
	 */
	double type_variance;
	double busy_s; /* time for which clusters executed tasks that count, seconds */
	double cost;   /* of busy_s, by the price of each cluster */
};

/*
 * Computes the robustness of a run that is over, of tasks of `types` types (rows). The first and the
 * last `left_out` tasks, by the time at which they left, do not count (ties: the lower id first);
 * at least one task must remain. `prices`: per hour of each cluster, >= 0; NULL: 1 each.
 */
void robustness_of(const struct engine *engine, uint32_t types, uint32_t left_out,
		   const double *prices, struct robustness *ret_robustness);
