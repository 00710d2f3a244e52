/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <math.h>
#include <stdbool.h>

/*
 * What decisions compare: values rounded to 12 significant decimal digits. Numbers that are equal on paper differ in their
 * last bits when they come out of different sums, and would then be no tie. Their keys are equal.
 *
 * A tolerance is no order: a could tie with b, and b with c, while a is better than c. Keys are plain numbers, and
 * rounding never puts a larger one before a smaller one, so what is sorted by keys is sorted once and for all. The price:
 * of two values that differ by a rounding error one may lie on either side of a limit between two keys. Numbers that
 * people write down have few digits and lie in the middle between two limits.
 *
 * Any value has a key but NaN. Cost: some multiplications; where the value lies within a rounding error of a limit, one
 * value in a thousand, what printf() takes.
 */
double rank_key(double value);

/* Values that differ by more than this share of the sum of their sizes have different keys. */
#define RANK_KEY_NEAR 1.1e-11

/* Compares the keys of two values: below 0, 0 or above 0 as the key of `a` is less, equal or more. */
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
