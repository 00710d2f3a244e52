/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>

/*
 * The values that decisions compare: numbers rounded to 12 significant decimal digits. Numbers that
 * are equal on paper differ in their last bits if they come from different sums, and would then not
 * tie. Their keys are equal.
 *
 * A tolerance would not be an order: a could tie with b, and b with c, while a is better than c.
 * Keys are plain numbers, and rounding never puts a larger number before a smaller one, so that
 * sorting by keys is consistent. The price: two values that differ by a rounding error may lie on
 * either side of a limit between two keys. Numbers that people write down have few digits and lie
 * in the middle between two limits.
 *
 * Any value but NaN has a key. Cost: some multiplications; where the value lies within a rounding
 * error of a limit, one value in a thousand, the cost of printf().
 */
double rank_key(double value);

/* Values that differ by more than this fraction of the sum of their sizes have different keys. */
#define RANK_KEY_NEAR 1.1e-11

/*
 * Compares the keys of two values: returns less than 0, 0 or more than 0 as the key of `a` is less,
 * equal or more.
 */
static inline int rank_key_compare(double a, double b)
{
	if (a != b && fabs(a - b) <= RANK_KEY_NEAR * (fabs(a) + fabs(b))) {
		a = rank_key(a);
		b = rank_key(b);
	}
	return (a > b) - (a < b);
}

/* Whether the key of `a` is above that of `b`. */
static inline bool rank_key_above(double a, double b)
{
	return a > b && rank_key_compare(a, b) > 0;
}
