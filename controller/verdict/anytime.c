/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/verdict/anytime.h"

#include <math.h>

/* By which ends of intervals may be off, as a fraction of the mean. */
#define ROUNDING 1e-12

struct anytime anytime_new(double alpha, double variance, double df)
{
	const bool known = isfinite(variance) && variance > 0 && df > 0;

	return (struct anytime){
		.alpha = alpha,
		.known_square = known ? variance * df : 0,
		.known_df = known ? df : 0,
		.low = -INFINITY,
		.high = INFINITY,
	};
}

/* Half the width by the sum of squares of n values and of the estimate from elsewhere. */
static double half_width(double alpha, uint32_t n, double square, double df)
{
	const double growth = 1 + n * ANYTIME_SPREAD;
	const double c = pow(sqrt(growth) / alpha, 2 / (df + 1));

	if (df <= 0 || c >= growth)
		return INFINITY;
	return sqrt(square * (c - 1) / (n * (1 - c / growth)));
}

void anytime_add(struct anytime *series, double value)
{
	double before = series->mean;
	double half, rounding;

	if (!isfinite(value))
		return;
	series->n++;
	series->mean += (value - before) / series->n;
	series->square += (value - before) * (value - series->mean);
	half = half_width(series->alpha, series->n, series->known_square + series->square,
			  series->known_df + series->n - 1);
	rounding = ROUNDING * fabs(series->mean);
	series->empty = series->empty || series->mean - half > series->high + rounding ||
			series->mean + half < series->low - rounding;
	if (series->empty)
		return;
	series->low = fmax(series->low, series->mean - half);
	series->high = fmin(series->high, series->mean + half);
}

double anytime_variance(const struct anytime *series)
{
	const double df = series->known_df + (series->n > 1 ? series->n - 1 : 0);

	return df > 0 ? (series->known_square + series->square) / df : NAN;
}

double anytime_half_width(const struct anytime *series, uint32_t n, double variance)
{
	const double df = series->known_df + n - 1;

	return half_width(series->alpha, n, variance * df, df);
}
