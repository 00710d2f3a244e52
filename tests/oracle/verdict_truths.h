/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/verdict/verdict.h"

/*
 * Synthetic experiments whose true utilities are known: what verdicts are held against.
 *
 * Each has four policies at two limits, 12 pairs and a full design of so many repeats. By its number
 * a truth has, in turn,
 *
 * - nothing but ties: every policy earns the same;
 * - near ties: policies earn within 1 % of each other;
 * - the shape of the paper's testbed (Machovec 2018, 6.3): one policy earns 20 to 30 % less than the
 *   others, which are within 3 % of each other;
 * - anything: each policy earns up to 30 % less than the best.
 *
 * A run has a deviation of 2 to 6 % (of its truth), times a factor of its cell, lognormal with a
 * quarter, and the runs of a repeat have a deviation of 2 % in common, which wanders from repeat to
 * repeat. The noise is, in turn, normal, skewed (Erlang of four) and heavy-tailed (Student's t, 5
 * degrees of freedom). The simulated repeats' deviation is the true one times a lognormal factor of
 * a quarter, and times `misjudged`.
 */
enum {
	VERDICT_TRUTH_POLICIES = 4,
	VERDICT_TRUTH_LIMITS = 2,
	VERDICT_TRUTH_CELLS = VERDICT_TRUTH_POLICIES * VERDICT_TRUTH_LIMITS,
	VERDICT_TRUTH_PAIRS =
		VERDICT_TRUTH_LIMITS * VERDICT_TRUTH_POLICIES * (VERDICT_TRUTH_POLICIES - 1) / 2,
	VERDICT_TRUTH_KINDS = 4,
};

struct verdict_truth {
	uint32_t kind;
	double means[VERDICT_TRUTH_CELLS];
	double noise[VERDICT_TRUTH_CELLS]; /* as simulated repeats have it */
	struct verdict_pair pairs[VERDICT_TRUTH_PAIRS];
	uint32_t repeats;
	double *utility; /* of all runs: cells x repeats */
};

/* The truth of this number. The caller clears it. */
void verdict_truth_init(struct verdict_truth *truth, uint64_t seed, uint32_t number,
			uint32_t repeats, double misjudged);
void verdict_truth_clear(struct verdict_truth *truth);

/* What `run --until-verdict` makes of it. */
struct verdict_play {
	struct verdict_finding findings[VERDICT_TRUTH_PAIRS];
	uint32_t runs;    /* that were made */
	bool wrong;       /* a pair is decided, and is not so */
	bool uncovered;   /* an interval does not contain the true difference */
	uint32_t decided; /* pairs that the one or the other policy wins */
};

/* Plays the truth under `alpha`; `noisy`: with the noise of simulated repeats. */
struct verdict_play verdict_truth_play(const struct verdict_truth *truth, double alpha,
				       double equal_within, bool noisy);

/* Whether a state of the pair is not so. */
bool verdict_truth_is_wrong(const struct verdict_truth *truth, const struct verdict_pair *pair,
			    enum verdict_state state, double equal_within);
