/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/report/compare_side.h"

/*
 * How far the second side of a comparison is from the first, policy by policy, on the same
 * arrivals: the relative differences that studies of simulators report (Hunold 2011 and
 * Jokanovic 2018 of docs/reference/papers.md, for makespans).
 *
 * A measured side has the mean over its repeats, which are of one workload; a simulated one has its
 * run on these arrivals. Policies without such a run have no deviations. Quantities of a run:
 *
 *
 * - makespan: the last end less the first arrival, of tasks that started and ended;
 * - dynamic energy: the joules above the idle baseline;
 * - mean wait: start - arrival, mean over the tasks that started; the start of the last attempt;
 * - utility.
 *
 *
 * The deviation is second / first - 1. Its medians are over the absolute values.
 */
enum deviation_quantity {
	DEVIATION_MAKESPAN = 0,
	DEVIATION_ENERGY,
	DEVIATION_WAIT,
	DEVIATION_UTILITY,
	DEVIATION_QUANTITIES
};

/* A policy at a limit, or a median. */
struct deviation {
	double limit;       /* NAN: the median over all limits */
	const char *policy; /* borrowed from the first side; NULL: the median over the policies */
	/* On both sides, and the deviation; NAN: unknown, of the first side 0, or a median. */
	double value[DEVIATION_QUANTITIES][2];
	double relative[DEVIATION_QUANTITIES];
};

/*
 * The deviations, by limit and in the order of policies, with the median after the policies of each
 * limit, and the median over all cells at the end: GArray of struct deviation, empty where the
 * sides have no runs on the same arrivals. NULL with `error` (DATABASE_ERROR).
 */
GArray *deviation_measure(const struct compare_sides *sides, GError **error);

/* The table with its heading; "" for none. The caller frees. */
char *deviation_text(const struct compare_sides *sides, const GArray *deviations);

/*
 * {"rows": [{"limit", "policy", QUANTITY: {SIDE: ., SIDE: ., "deviation": .}}], "medians":
 * [{"limit", QUANTITY: .}]}; null for none. New reference.
 */
json_t *deviation_json(const struct compare_sides *sides, const GArray *deviations);
