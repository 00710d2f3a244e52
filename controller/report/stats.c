/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/report/stats.h"

#include <glib.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

/* With fewer values, blocks are not worth resampling. */
#define BLOCK_VALUES_MIN 8

/* Relative difference below which two values are tied. */
#define TIE 1e-9

double stats_mean(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return n ? sum / (double)n : NAN;
}

double stats_sd(const double *values, size_t n)
{
	double mean = stats_mean(values, n);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return n > 1 ? sqrt(sum / (double)(n - 1)) : NAN;
}

static int compare_doubles(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_quantile(const double *values, size_t n, double p)
{
	g_autofree double *sorted = NULL;

	if (n == 0)
		return NAN;
	sorted = g_memdup2(values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	return gsl_stats_quantile_from_sorted_data(sorted, 1, n, p);
}

double stats_median(const double *values, size_t n)
{
	return stats_quantile(values, n, 0.5);
}

struct stats_interval stats_interval_from_se(double value, double se, double df, double level,
					     size_t n)
{
	double tail = (1 + level) / 2;
	double quantile = isinf(df) ? gsl_cdf_ugaussian_Pinv(tail) : gsl_cdf_tdist_Pinv(tail, df);

	return (struct stats_interval){
		.value = value,
		.low = value - quantile * se,
		.high = value + quantile * se,
		.n = n,
		.se = se,
		.df = df,
	};
}

static struct stats_interval no_interval(double value, size_t n)
{
	return (struct stats_interval){value, NAN, NAN, n, NAN, NAN};
}

struct stats_interval stats_t_interval(const double *values, size_t n, double level)
{
	double mean = stats_mean(values, n);

	if (n < 2)
		return no_interval(mean, n);
	return stats_interval_from_se(mean, stats_sd(values, n) / sqrt((double)n), (double)(n - 1),
				      level, n);
}

/* Welch and Satterthwaite's degrees of freedom of a sum of two squared errors. */
static double welch_df(const struct stats_interval *a, const struct stats_interval *b)
{
	double x = a->se * a->se;
	double y = b->se * b->se;

	if (x + y == 0)
		return INFINITY;
	return (x + y) * (x + y) / (x * x / a->df + y * y / b->df);
}

struct stats_interval stats_difference(const struct stats_interval *a,
				       const struct stats_interval *b, double level)
{
	size_t n = a->n < b->n ? a->n : b->n;

	if (!isfinite(a->low) || !isfinite(b->low))
		return no_interval(a->value - b->value, n);
	return stats_interval_from_se(a->value - b->value, hypot(a->se, b->se), welch_df(a, b),
				      level, n);
}

size_t stats_block_length(size_t n)
{
	return (size_t)ceil(cbrt((double)n));
}

/* The variance (divisor n) of the n sums of `block` neighbours on the circle. */
static double block_sum_variance(const double *values, size_t n, size_t block)
{
	double mean = stats_mean(values, n) * (double)block;
	double squares = 0;

	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t j = 0; j < block; j++)
			sum += values[(i + j) % n];
		squares += (sum - mean) * (sum - mean);
	}
	return squares / (double)n;
}

struct stats_interval stats_block_interval(const double *values, size_t n, double level)
{
	double sum = n ? stats_mean(values, n) * (double)n : 0;
	size_t block = stats_block_length(n);
	double blocks;

	if (n < BLOCK_VALUES_MIN)
		return no_interval(sum, n);
	blocks = (double)n / (double)block;
	return stats_interval_from_se(sum, sqrt(blocks * block_sum_variance(values, n, block)),
				      blocks - 1, level, n);
}

enum stats_sign stats_interval_sign(const struct stats_interval *interval)
{
	if (interval->low > 0)
		return STATS_SIGN_POSITIVE;
	if (interval->high < 0)
		return STATS_SIGN_NEGATIVE;
	return STATS_SIGN_UNCLEAR;
}

/* -1, 0 or 1. */
static int order(double a, double b)
{
	if (fabs(a - b) <= TIE * fmax(fabs(a), fabs(b)))
		return 0;
	return a > b ? 1 : -1;
}

void stats_kendall_add(struct stats_kendall *kendall, const double *x, const double *y, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			int in_x = order(x[i], x[j]);
			int in_y = order(y[i], y[j]);

			kendall->pairs++;
			kendall->concordant += in_x * in_y > 0;
			kendall->discordant += in_x * in_y < 0;
			kendall->ties_x += in_x == 0;
			kendall->ties_y += in_y == 0;
		}
	}
}

double stats_kendall_tau_b(const struct stats_kendall *kendall)
{
	double untied = (double)(kendall->pairs - kendall->ties_x) *
			(double)(kendall->pairs - kendall->ties_y);

	if (untied <= 0)
		return NAN;
	return ((double)kendall->concordant - (double)kendall->discordant) / sqrt(untied);
}
