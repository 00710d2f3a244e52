/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/attribution/attribution.h"

/*
 * A measured and a simulated directory whose difference has known causes: both are made by the
 * simulator, and the "measured" runs with causes planted, of sizes that are drawn.
 */
struct plant {
	cause_set causes; /* that are planted */
	uint64_t seed;    /* of the tasks, of the sizes and of the noise */
	double noise;     /* standard deviation of each task's time and power, relative to 1 */
	uint32_t repeats; /* measured */
	bool shared;      /* on hosts that tasks share in time */
};

/* A plant that was made, its comparison and its attribution. */
struct planted {
	char *dir;
	struct summary *summaries[2];
	struct compare_sides sides;
	struct compare *compare;
	struct attribution *attribution;
};

/*
 * Makes and attributes a plant, with another seed where that changes the utility too little to be
 * worth a cause. `options` as in attribution_new(). The caller clears.
 */
void plant_attribute(const struct plant *plant, const struct attribution_options *options,
		     struct planted *ret_planted);
void planted_clear(struct planted *planted);

/* The cell of the policy that is affected. */
const struct attribution_cell *planted_cell(const struct planted *planted);

/* The largest deviation of gap from the sum of its parts, over all measures of all cells. */
double planted_rest(const struct planted *planted);

/*
 * The causes that plants are made of, in turn: plant number `number`, with `count` causes, of 1
 * or 2, or 0.
 */
struct plant plant_numbered(uint32_t number, uint32_t count);

/*
 * Of `plants` plants with `count` causes, on `jobs` threads: in how many the first cause is a
 * planted one, or with `count` 0, none stands out.
 */
uint32_t plant_count_right(uint32_t plants, uint32_t count, uint32_t jobs);
