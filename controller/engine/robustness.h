/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/engine/engine.h"

/*
 * What came of the tasks of a run on machines with queues (Gentry 2019, VI.B and VII): the share that was
 * on time, how even that is over the task types, and what the machines cost.
 *
 * While queues fill up at the beginning and run dry at the end the system is not oversubscribed: the
 * first and the last tasks to leave it, completed or dropped, do not count (VI.B).
 */
struct robustness {
	uint32_t counted;   /* tasks that count */
	uint32_t on_time;   /* of them */
	double share;       /* on time of those that count, [0, 1] */
	/*
	 * The variance (population) over the types of the share of their tasks that was on time, types
	 * of which none counts left out. Shares are in [0, 1]: 0.06 is what Fig. 6 calls 6 %.
	 */
	double type_variance;
	double busy_s;      /* that machines executed tasks that count */
	double cost;        /* of that, by the price of each machine */
};

/*
 * Rates a run that is over. The first and the last `left_out` tasks by the time at which they left do
 * not count (ties: the lower id first); so many as to leave none is the caller's mistake. `prices`: of
 * an hour of each cluster, >= 0; NULL: 1 each.
 */
void robustness_of(const struct engine *engine, uint32_t left_out, const double *prices,
		   struct robustness *ret_robustness);
