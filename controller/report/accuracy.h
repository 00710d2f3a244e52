/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "controller/report/summary.h"

/*
 * How far measured execution times were from their estimates, over the completed tasks of one
 * cluster or of all.
 *
 * A machine's own speed changes from one minute to the next, and all of its clusters with it: an
 * estimate cannot know. What is common is told apart: a task's ratio measured / ETC over the mean
 * ratio of the tasks that ran on *other* clusters at the same time, weighted by how long they ran
 * beside it. What is left is the error of the estimate and the noise of the task itself.
 */
struct accuracy {
	char *cluster; /* NULL: over all */
	double speed;  /* of a simulated cluster, whose seconds are counted: how many to a real one; else 1 */
	uint32_t n;
	double median_ratio; /* median of measured / ETC */
	double median_error; /* median of |measured / ETC - 1| */
	uint32_t apart_n;    /* tasks beside which others ran */
	double median_apart; /* median of |measured / ETC / what was common - 1|; NAN: none */
};

/*
 * The accuracies of a measured experiment: of each cluster in its order, the last one over all. A
 * GArray of struct accuracy, freed with g_array_unref(); NULL with `error` set (STORE_ERROR). Costs
 * the square of the tasks of a run.
 */
GArray *accuracy_measure(const struct summary *measured, GError **error);
