/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "controller/report/compare.h"

/*
 * The measures of each policy relative to those of one of them, the baseline, on both sides. A
 * ratio is taken per repeat or trial, in which both policies had the same arrivals, and averaged:
 * what all policies share in a workload cancels out. Where the simulation is judged by its runs on
 * the measured arrivals, its ratios are those of these runs alone, without an interval.
 */

/* A policy at a limit. */
struct compare_ratio {
	double limit;
	const char *policy; /* borrowed from the first side */
	/* By side and measure, with 95 % intervals by Student's t; NAN: the baseline has 0. */
	struct stats_interval of[2][COMPARE_ENERGY_J + 1];
};

/*
 * The ratios to policy `baseline`, by limit and in the order of policies: GArray of struct
 * compare_ratio. NULL with `error` (COMPARE_ERROR_BASELINE) where the two sides do not both have it
 * at a limit.
 */
GArray *compare_ratios(const struct compare *compare, const char *baseline, GError **error);

/* The table with its heading, to be shown with the comparison's. The caller frees. */
char *compare_ratios_text(const struct compare *compare, const GArray *ratios,
			  const char *baseline);

/*
 * {"policy": NAME, "ratios": [{"limit", "policy", SIDE: {"utility": {"ratio", "low", "high", "n"},
 * ...}}]}. New reference.
 */
json_t *compare_ratios_json(const struct compare *compare, const GArray *ratios,
			    const char *baseline);
