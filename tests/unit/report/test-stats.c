/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "common/random.h"
#include "controller/report/stats.h"

static void assert_near(double actual, double expected, double tolerance)
{
	if (fabs(actual - expected) > tolerance)
		g_error("%.12g is not %.12g within %g", actual, expected, tolerance);
}

static void test_mean_sd_median(void)
{
	static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};

	assert_near(stats_mean(values, 8), 5, 1e-15);
	assert_near(stats_sd(values, 8), sqrt(32.0 / 7), 1e-15);
	assert_near(stats_median(values, 8), 4.5, 0);
	assert_near(stats_median(values, 7), 4, 0);
	g_assert_true(isnan(stats_mean(values, 0)));
	g_assert_true(isnan(stats_sd(values, 1)));
	g_assert_true(isnan(stats_median(values, 0)));
	assert_near(stats_quantile(values, 8, 0), 2, 0);
	assert_near(stats_quantile(values, 8, 1), 9, 0);
	assert_near(stats_quantile(values, 1, 0.9), values[0], 0);
	g_assert_true(isnan(stats_quantile(values, 0, 0.9)));
}

/* t(0.975) from printed tables: 12.706 with 1, 4.303 with 2, 2.262 with 9 degrees of freedom. */
static void test_t_interval(void)
{
	static const double two[] = {1, 3};
	static const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct stats_interval interval = stats_t_interval(two, 2, 0.95);

	assert_near(interval.value, 2, 0);
	assert_near(interval.high - interval.value, 12.7062, 1e-4);
	interval = stats_t_interval(ten, 10, 0.95);
	assert_near(interval.high - interval.value, 2.262157 * sqrt(110.0 / 12 / 10), 1e-5);
	assert_near(interval.value - interval.low, interval.high - interval.value, 1e-12);
	interval = stats_t_interval(ten, 1, 0.95);
	g_assert_true(isnan(interval.low) && isnan(interval.high));
	g_assert_cmpint(stats_interval_sign(&interval), ==, STATS_SIGN_UNCLEAR);
	interval = stats_interval_from_se(0, 1, INFINITY, 0.95, 1);
	assert_near(interval.high, 1.959964, 1e-6);
}

/*
 * Welch's example by hand: se 1 with 4 and se 2 with 8 degrees of freedom: df = 25 / (1/4 + 16/8) =
 * 11.1.
 */
static void test_difference(void)
{
	const struct stats_interval a = stats_interval_from_se(10, 1, 4, 0.95, 5);
	const struct stats_interval b = stats_interval_from_se(4, 2, 8, 0.95, 9);
	const struct stats_interval none = stats_t_interval((const double[]){1}, 1, 0.95);
	const struct stats_interval exact = stats_interval_from_se(1, 0, 3, 0.95, 4);
	struct stats_interval difference = stats_difference(&a, &b, 0.95);

	assert_near(difference.value, 6, 0);
	assert_near(difference.se, sqrt(5), 1e-15);
	assert_near(difference.df, 25 / 2.25, 1e-12);
	/* t(0.975, 11) = 2.20099, t(0.975, 12) = 2.17881. */
	assert_near((difference.high - 6) / sqrt(5), 2.198, 0.003);
	difference = stats_difference(&a, &none, 0.95);
	g_assert_true(isnan(difference.low) && difference.value == 9);
	difference = stats_difference(&exact, &exact, 0.95);
	assert_near(difference.high, 0, 0);
}

static void test_signs(void)
{
	static const struct {
		struct stats_interval interval;
		enum stats_sign sign;
	} cases[] = {
		{{2, 1, 3, 5}, STATS_SIGN_POSITIVE},    {{-2, -3, -1, 5}, STATS_SIGN_NEGATIVE},
		{{1, -1, 3, 5}, STATS_SIGN_UNCLEAR},    {{0, 0, 0, 5}, STATS_SIGN_UNCLEAR},
		{{1, 0, 2, 5}, STATS_SIGN_UNCLEAR},     {{1, 1, 1, 5}, STATS_SIGN_POSITIVE},
		{{1, NAN, NAN, 1}, STATS_SIGN_UNCLEAR},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpint(stats_interval_sign(&cases[i].interval), ==, (int)cases[i].sign);
}

/*
 * With blocks of one value the circular bootstrap is the plain one: variance n x var (divisor n).
 */
static void test_block_variance_is_that_of_drawn_resamples(void)
{
	enum { N = 40, DRAWS = 40000 };
	double values[N];
	struct random_stream random;
	struct stats_interval interval;
	size_t block = stats_block_length(N);
	double squares = 0, sum = 0;

	random_stream_init(&random, 7, 0);
	for (int i = 0; i < N; i++)
		values[i] = (i ? 0.5 * values[i - 1] : 0) + random_stream_uniform(&random);
	interval = stats_block_interval(values, N, 0.95);
	g_assert_cmpuint(block, ==, 4);
	for (int draw = 0; draw < DRAWS; draw++) {
		double total = 0;

		for (size_t k = 0; k < N / block; k++) {
			size_t start = random_stream_below(&random, N);

			for (size_t j = 0; j < block; j++)
				total += values[(start + j) % N];
		}
		sum += total;
		squares += total * total;
	}
	sum /= DRAWS;
	assert_near(interval.value, sum, 0.1);
	/* t(0.975) with 9 degrees of freedom. */
	assert_near((interval.high - interval.value) / 2.262157, sqrt(squares / DRAWS - sum * sum),
		    0.03);
}

/* Coverage: of independent values the interval holds the true sum about as often as it says. */
static void test_block_interval_covers(void)
{
	enum { N = 30, ROUNDS = 4000 };
	struct random_stream random;
	int covered = 0;

	random_stream_init(&random, 11, 0);
	for (int round = 0; round < ROUNDS; round++) {
		double values[N];
		struct stats_interval interval;

		for (int i = 0; i < N; i++)
			values[i] = random_stream_exponential(&random, 1) - 1;
		interval = stats_block_interval(values, N, 0.95);
		covered += interval.low <= 0 && 0 <= interval.high;
	}
	g_test_message("coverage %.3f", (double)covered / ROUNDS);
	g_assert_cmpfloat((double)covered / ROUNDS, >, 0.90);
	g_assert_cmpfloat((double)covered / ROUNDS, <, 0.99);
}

static void test_block_interval_needs_values(void)
{
	static const double values[] = {1, 1, 1, 1, 1, 1, 1};
	struct stats_interval interval = stats_block_interval(values, 7, 0.95);

	assert_near(interval.value, 7, 0);
	g_assert_true(isnan(interval.low));
	interval = stats_block_interval(NULL, 0, 0.95);
	assert_near(interval.value, 0, 0);
}

static double tau(const double *x, const double *y, size_t n)
{
	struct stats_kendall kendall = {0};

	stats_kendall_add(&kendall, x, y, n);
	return stats_kendall_tau_b(&kendall);
}

static void test_kendall(void)
{
	static const double up[] = {1, 2, 3, 4};
	static const double down[] = {4, 3, 2, 1};
	static const double swapped[] = {1, 3, 2, 4};
	static const double flat[] = {5, 5, 5, 5};
	/*
	 * Counted by hand: 66 pairs, 4 tied in x, 3 in y, 1 of them in both; 4 discordant (4 before
	 * 3, 6 before 5 twice, 8 before 7), so 56 concordant.
	 */
	static const double x[] = {1, 2, 2, 3, 4, 5, 6, 6, 6, 7, 8, 9};
	static const double y[] = {1, 1, 2, 4, 3, 6, 5, 5, 8, 7, 9, 9};

	assert_near(tau(up, up, 4), 1, 1e-15);
	assert_near(tau(up, down, 4), -1, 1e-15);
	assert_near(tau(up, swapped, 4), 4.0 / 6, 1e-15);
	g_assert_true(isnan(tau(up, flat, 4)));
	g_assert_true(isnan(tau(up, up, 1)));
	struct stats_kendall kendall = {0};

	stats_kendall_add(&kendall, x, y, 12);
	g_assert_cmpuint(kendall.pairs, ==, 66);
	g_assert_cmpuint(kendall.ties_x, ==, 4);
	g_assert_cmpuint(kendall.ties_y, ==, 3);
	g_assert_cmpuint(kendall.discordant, ==, 4);
	g_assert_cmpuint(kendall.concordant, ==, 56);
	assert_near(stats_kendall_tau_b(&kendall), 52 / sqrt(62.0 * 63.0), 1e-15);
}

static void test_kendall_groups(void)
{
	static const double up[] = {1, 2, 3};
	static const double down[] = {30, 20, 10};
	struct stats_kendall kendall = {0};

	stats_kendall_add(&kendall, up, up, 3);
	stats_kendall_add(&kendall, up, down, 3);
	g_assert_cmpuint(kendall.pairs, ==, 6);
	assert_near(stats_kendall_tau_b(&kendall), 0, 0);
}

/* Utilities that differ by rounding alone are tied. */
static void test_kendall_tie_tolerance(void)
{
	static const double x[] = {100, 100 + 1e-12, 3};
	static const double y[] = {7, 6, 5};
	struct stats_kendall kendall = {0};

	stats_kendall_add(&kendall, x, y, 3);
	g_assert_cmpuint(kendall.ties_x, ==, 1);
	g_assert_cmpuint(kendall.discordant, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stats/mean, deviation and median", test_mean_sd_median);
	g_test_add_func("/stats/t intervals are those of printed tables", test_t_interval);
	g_test_add_func("/stats/a difference has the errors of both", test_difference);
	g_test_add_func("/stats/an interval that holds 0 has no sign", test_signs);
	g_test_add_func("/stats/block variance is that of drawn resamples",
			test_block_variance_is_that_of_drawn_resamples);
	g_test_add_func("/stats/block interval covers the sum", test_block_interval_covers);
	g_test_add_func("/stats/block interval needs values", test_block_interval_needs_values);
	g_test_add_func("/stats/tau-b with and without ties", test_kendall);
	g_test_add_func("/stats/tau-b counts pairs within groups only", test_kendall_groups);
	g_test_add_func("/stats/tau-b ties what differs by rounding", test_kendall_tie_tolerance);
	return g_test_run();
}
