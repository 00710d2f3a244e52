/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "common/random.h"
#include "controller/verdict/anytime.h"

static void assert_near(double actual, double expected, double tolerance)
{
	if (!(fabs(actual - expected) <= tolerance))
		g_error("%.12g is not %.12g within %g", actual, expected, tolerance);
}

static double normal(struct random_stream *random)
{
	return gsl_cdf_ugaussian_Pinv(random_stream_uniform(random) + 0x1p-54);
}

/*
 * The evidence against a mean of m: both hypotheses integrated over the deviation, weighed by its
 * inverse, in small steps. Under the alternative the mean is normal around m.
 */
static double evidence(const struct anytime *series, double m)
{
	const double n = series->n;
	const double df = series->known_df + n;
	const double growth = 1 + n * ANYTIME_SPREAD;
	const double square = series->known_square + series->square;
	const double off = n * (series->mean - m) * (series->mean - m);
	double null = 0, other = 0;

	for (double log_sd = -12; log_sd < 12; log_sd += 1e-3) {
		const double sd = exp(log_sd);
		const double weight = pow(sd, -df);

		null += weight * exp(-(square + off) / (2 * sd * sd));
		other += weight * exp(-(square + off / growth) / (2 * sd * sd)) / sqrt(growth);
	}
	return other / null;
}

static void test_interval_is_where_the_evidence_is_small(void)
{
	static const double values[] = {1.5, 2.5, 0.5, 3, 2, 1};

	for (int known = 0; known < 2; known++) {
		struct anytime series = anytime_new(0.05, known ? 0.7 : NAN, known ? 4 : 0);

		for (size_t i = 0; i < G_N_ELEMENTS(values); i++) {
			double half;

			anytime_add(&series, values[i]);
			half = anytime_half_width(&series, series.n, anytime_variance(&series));
			if (isinf(half))
				continue;
			assert_near(evidence(&series, series.mean + half), 20, 1e-3);
			assert_near(evidence(&series, series.mean - half), 20, 1e-3);
		}
		g_assert_cmpuint(series.n, ==, 6);
		assert_near(series.mean, 1.75, 1e-12);
		g_assert_true(isfinite(series.low) && series.low < series.high);
	}
}

/* The part of series of `n` standard normal values whose intervals miss 0 at some time. */
static double missed(double known_df, double known_factor, uint32_t n)
{
	const uint32_t series_count = 4000;
	uint32_t count = 0;

	for (uint32_t k = 0; k < series_count; k++) {
		struct random_stream random;
		struct anytime series;
		double known = 0;
		bool out = false;

		random_stream_init(&random, 7, k);
		for (int i = 0; i < (int)known_df; i++) {
			const double value = normal(&random);

			known += value * value;
		}
		series = anytime_new(0.05, known_factor * known / known_df, known_df);
		for (uint32_t i = 0; i < n; i++) {
			anytime_add(&series, normal(&random));
			out = out || series.low > 0 || series.high < 0;
		}
		count += out;
	}
	return (double)count / series_count;
}

/* Looked at after each of 100 values, where t intervals of 95 % each would miss it in a third. */
static void test_holds_at_all_times_at_once(void)
{
	const double plain = missed(0, 1, 100);
	const double known = missed(4, 1, 100);

	g_assert_cmpfloat(plain, <, 0.05);
	g_assert_cmpfloat(plain, >, 0.01); /* and is not merely wide */
	g_assert_cmpfloat(known, <, 0.05);
	g_assert_cmpfloat(known, >, 0.01);
}

static void test_few_values_give_no_interval(void)
{
	struct anytime series = anytime_new(0.05, NAN, 0);

	g_assert_true(isnan(anytime_variance(&series)));
	anytime_add(&series, 3);
	g_assert_true(isinf(series.low) && isinf(series.high));
	g_assert_true(isnan(anytime_variance(&series)));
	anytime_add(&series, 3.1);
	g_assert_true(isinf(series.low)); /* one degree of freedom is too little at this alpha */
	series = anytime_new(0.05, 0.01, 8);
	anytime_add(&series, 3);
	g_assert_true(series.low > 0 && series.low < 3); /* one value, and noise from elsewhere */
}

static void test_equal_values_have_an_interval_of_no_width(void)
{
	struct anytime series = anytime_new(0.05, NAN, 0);

	for (int i = 0; i < 4; i++)
		anytime_add(&series, 2);
	assert_near(series.low, 2, 0);
	assert_near(series.high, 2, 0);
	anytime_add(&series, 2);
	assert_near(series.high, 2, 0);
	anytime_add(&series, 1000); /* whatever comes then, the interval stays one */
	g_assert_true(series.low <= series.high);
}

static void test_unknown_values_are_left_out(void)
{
	struct anytime series = anytime_new(0.05, NAN, 0);
	struct anytime same = series;

	for (int i = 0; i < 6; i++) {
		anytime_add(&series, i);
		anytime_add(&same, i);
		anytime_add(&same, i % 2 ? (double)NAN : (double)INFINITY);
	}
	g_assert_cmpuint(same.n, ==, 6);
	assert_near(same.low, series.low, 0);
	assert_near(same.high, series.high, 0);
}

static void test_more_values_are_expected_to_be_narrower(void)
{
	const struct anytime series = anytime_new(0.05 / 12, 2, 4);
	double before = INFINITY;

	for (uint32_t n = 1; n < 200; n++) {
		const double half = anytime_half_width(&series, n, 2);

		g_assert_true(half <= before);
		before = half;
	}
	g_assert_cmpfloat(before, <, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/anytime/interval-is-where-the-evidence-is-small",
			test_interval_is_where_the_evidence_is_small);
	g_test_add_func("/anytime/holds-at-all-times-at-once", test_holds_at_all_times_at_once);
	g_test_add_func("/anytime/few-values-give-no-interval", test_few_values_give_no_interval);
	g_test_add_func("/anytime/equal-values-have-an-interval-of-no-width",
			test_equal_values_have_an_interval_of_no_width);
	g_test_add_func("/anytime/unknown-values-are-left-out", test_unknown_values_are_left_out);
	g_test_add_func("/anytime/more-values-are-expected-to-be-narrower",
			test_more_values_are_expected_to_be_narrower);
	return g_test_run();
}
