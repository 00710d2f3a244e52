/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "controller/report/summary.h"

/*
 * How far measured execution times were from their estimates, over the completed tasks of one
 * cluster or of all.
 *
 * A machine's speed changes from minute to minute, and all of its clusters' with it, which no
 * estimate can know. This common part is removed: the ratio measured / ETC of a task is divided by
 * the mean ratio of the tasks that ran on *other* clusters at the same time, weighted by how long
 * they ran beside it. The rest is the error of the estimate and the noise of the task itself.
 */
struct accuracy {
	char *cluster; /* NULL: over all */
	double speed;  /* simulated seconds per real second of a simulated cluster; else 1 */
	uint32_t n;
	double median_ratio; /* median of measured / ETC */
	double median_error; /* median of |measured / ETC - 1| */
	uint32_t apart_n;    /* number of tasks beside which others ran */
	double median_apart; /* median of |measured / ETC / common ratio - 1|; NAN: none */
};

/*
 * The accuracies of a measured experiment: of each cluster in its order, the last one over all. A
 * GArray of struct accuracy, freed with g_array_unref(); NULL with `error` (DATABASE_ERROR). Costs
 * O(n^2) in the tasks of a run.
 */
GArray *accuracy_measure(const struct summary *measured, GError **error);
