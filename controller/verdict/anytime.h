/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The mean of a series of differences with an interval that holds at every number of values at
 * once: the probability that the intervals of n = 1, 2, ... do not all contain the true mean is at
 * most alpha. So one may look after every value, and stop when one likes.
 *
 * It is the t-test confidence sequence of Wang and Ramdas 2024 ("Anytime-valid t-tests and
 * confidence sequences for Gaussian means with unknown variance", arXiv:2310.03722, the test
 * martingale of the reduced filtration), with a normal mixture over the mean and the right Haar
 * mixture over the deviation. Lai 1976 ("On confidence sequences", Annals of Statistics 4) has a
 * flat mixture over the mean instead. Perez-Ortiz et al. 2024 ("E-statistics, group invariance and
 * anytime-valid testing", Annals of Statistics 52) show why such a mixture is valid. With n values
 * of mean d, S the sum of their squared deviations and v degrees of freedom, the evidence against a
 * mean of m is
 *
 *     E(m) = (1 + n g)^(-1/2) [(S + n (d - m)^2) / (S + n (d - m)^2 / (1 + n g))]^((v + 1) / 2)
 *
 * and the interval is all m with E(m) < 1 / alpha.
 *
 * An estimate of the variance from elsewhere counts as values of its own that tell of nothing but
 * the variance: it adds its degrees of freedom to v, and so many times itself to S. The statement
 * then holds where that estimate is one of the true variance with these degrees of freedom, and is
 * independent of the values (both together are invariant to scale, as the values alone are).
 * docs/explanation/verdict.md says how far that is so for runs until a verdict.
 *
 * It assumes that the differences are independent of each other, and normal with one variance.
 */

/*
 * g: the variance of the mixture over the mean, in variances of a value. 4 to 60 need about the
 * same number of runs.
 */
#define ANYTIME_SPREAD 25.0

struct anytime {
	double alpha;        /* in (0, 1) */
	double known_square; /* sum of squares of the estimate from elsewhere; 0: there is none */
	double known_df;     /* its degrees of freedom; 0: there is none */
	/* What the values have come to. */
	uint32_t n;
	double mean;
	double square;    /* sum of squared deviations from the mean */
	double low, high; /* the intersection of the intervals so far; infinite: unknown */
	/* No value is in all intervals: they are not of such a series. low, high are the last ones. */
	bool empty;
};

/*
 * A series without values. `variance`, `df`: an estimate of the variance of a value from elsewhere;
 * not a number or 0: there is none.
 */
struct anytime anytime_new(double alpha, double variance, double df);

/* Adds a value, which is left out if it is not a number. */
void anytime_add(struct anytime *series, double value);

/* The variance of a value as far as it is known; NAN: it is not. */
double anytime_variance(const struct anytime *series);

/*
 * Half the width of the interval of `n` values (at least 1) if their variance, and that of the
 * estimate from elsewhere, is `variance`. INFINITY where the values are too few.
 */
double anytime_half_width(const struct anytime *series, uint32_t n, double variance);
