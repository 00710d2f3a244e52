/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stddef.h>

/*
 * The statistics behind tables and verdicts. Pure functions of their arguments; NAN: too few
 * values.
 */

/* A value with the bounds of its confidence interval. low = high = NAN: there is no interval. */
struct stats_interval {
	double value;
	double low;
	double high;
	size_t n;  /* values behind it */
	double se; /* standard error of the value */
	double df; /* its degrees of freedom */
};

/* What an interval says about the sign of its value. */
enum stats_sign {
	STATS_SIGN_UNCLEAR = 0, /* it contains 0, or there is none */
	STATS_SIGN_POSITIVE,
	STATS_SIGN_NEGATIVE,
};

/* The values of an array of double, for the functions below. */
static inline const double *stats_values(const GArray *array)
{
	return (const double *)(const void *)array->data;
}

/* Arithmetic mean; NAN when n is 0. */
double stats_mean(const double *values, size_t n);

/* Standard deviation of a sample (divisor n - 1); NAN when n < 2. */
double stats_sd(const double *values, size_t n);

/* Median (mean of the middle two for even n); NAN when n is 0. */
double stats_median(const double *values, size_t n);

/*
 * The value below which the fraction `p` (0 .. 1) of the values lies, interpolated linearly between
 * the two nearest ranks; 0 gives the least, 1 the greatest. NAN when n is 0.
 */
double stats_quantile(const double *values, size_t n, double p);

/*
 * Mean with its two-sided interval by Student's t distribution with n - 1 degrees of freedom;
 * `level` in (0, 1), e.g. 0.95. No interval when n < 2.
 */
struct stats_interval stats_t_interval(const double *values, size_t n, double level);

/*
 * value +- t x se, `df` > 0 degrees of freedom (need not be whole); INFINITY: the normal
 * distribution.
 */
struct stats_interval stats_interval_from_se(double value, double se, double df, double level,
					     size_t n);

/*
 * The difference a - b of two independent values that have intervals, with an interval of its own
 * (Welch's degrees of freedom). No interval when either has none.
 */
struct stats_interval stats_difference(const struct stats_interval *a,
				       const struct stats_interval *b, double level);

/*
 * The *sum* of a series whose neighbours may be correlated, with an interval by the circular block
 * bootstrap (Politis and Romano, "A circular block-resampling procedure for stationary data",
 * 1992), which resamples blocks of ceil(n^(1/3)) neighbours. The variance of the resampled sums is
 * computed in closed form: it is (n / block) x the variance of the n circular block sums. The
 * interval is the sum +- t x its root with n / block - 1 degrees of freedom, so that few blocks
 * give wide intervals. No interval when n < 8.
 */
struct stats_interval stats_block_interval(const double *values, size_t n, double level);

/* The block length of stats_block_interval(). */
size_t stats_block_length(size_t n);

/* The sign of a value whose interval excludes 0. An interval of width 0 at 0 is unclear. */
enum stats_sign stats_interval_sign(const struct stats_interval *interval);

/*
 * Counts of pairs for Kendall's rank correlation. Several groups of items may be added; only pairs
 * within a group count.
 */
struct stats_kendall {
	size_t pairs;
	size_t concordant;
	size_t discordant;
	size_t ties_x; /* pairs equal in x, whether equal in y or not */
	size_t ties_y;
};

/*
 * Adds the n (n - 1) / 2 pairs of one group: item i has x[i] and y[i]. Values that differ by no
 * more than 1e-9 of the larger magnitude are tied.
 */
void stats_kendall_add(struct stats_kendall *kendall, const double *x, const double *y, size_t n);

/*
 * tau-b = (C - D) / sqrt((P - Tx) (P - Ty)) (Kendall, "Rank correlation methods"); -1 .. 1, NAN
 * where all of x or all of y is tied.
 */
double stats_kendall_tau_b(const struct stats_kendall *kendall);
