/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pairs of EP: uniform deviates in the square, those within the unit circle turned into pairs
 * of Gaussian deviates, which are summed and counted by square annuli. Pure functions, no MPI.
 *
 * Pair j (from 0) has x = 2 u[2j+1] - 1 and y = 2 u[2j+2] - 1. It is accepted if t = x^2 + y^2 <=
 * 1, and gives X = x s and Y = y s with s = sqrt(-2 ln t / t).
 */
#ifndef NPB_EP_PAIRS_H
#define NPB_EP_PAIRS_H

#include <stdint.h>

#include "benchmarks/npb/npb_progress.h"

/* Annuli: number l counts the pairs with l <= max(|X|, |Y|) < l + 1. */
#define EP_ANNULI 10
/* Pairs are dealt out to the ranks in batches of so many, log 2. */
#define EP_BATCH_LOG2 16

/* Figures of one class. */
struct ep_class {
	char name;
	int pairs_log2;      /* number of pairs, log 2 */
	double sum_x, sum_y; /* what the sums must be, to 1e-8 relative */
};

/* The figures of class @name (S, W, A, B or C); never NULL for those. */
const struct ep_class *ep_class_find(char name);

/* What is added up over pairs. */
struct ep_sums {
	double x, y;
	int64_t counts[EP_ANNULI]; /* their sum is the number of accepted pairs */
};

/*
 * Add up batches @first .. @first+@count-1 (from 0; 2^EP_BATCH_LOG2 pairs each) into @ret_sums,
 * which is overwritten; @progress (NULL: none) counts the batches. The hot loop is compiled for
 * several processors (npb_clones.h), which differ in the last bits of the sums.
 */
void ep_pairs_add_up(int64_t first, int64_t count, struct npb_progress *progress,
		     struct ep_sums *ret_sums);

#endif
