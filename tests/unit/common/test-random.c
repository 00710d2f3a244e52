/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/random.h"

#include <glib.h>
#include <math.h>

/* The published vector of xoshiro256** from state 1, 2, 3, 4. */
static void test_generator_gives_the_published_numbers(void)
{
	static const uint64_t expected[] = {11520u,
					    0u,
					    1509978240u,
					    1215971899390074240u,
					    1216172134540287360u,
					    607988272756665600u,
					    16172922978634559625u,
					    8476171486693032832u,
					    10595114339597558777u,
					    2904607092377533576u};
	struct random_stream random = {{1, 2, 3, 4}};

	for (gsize i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpuint(random_stream_next(&random), ==, expected[i]);
}

/* The first outputs of SplitMix64 from 0. */
static void test_stream_0_is_the_textbook_seeding(void)
{
	struct random_stream random;

	random_stream_init(&random, 0, 0);
	g_assert_cmpuint(random.s[0], ==, 0xe220a8397b1dcdafu);
	g_assert_cmpuint(random.s[1], ==, 0x6e789e6aa1b965f4u);
	g_assert_cmpuint(random.s[2], ==, 0x06c45d188009454fu);
	g_assert_cmpuint(random.s[3], ==, 0xf88bb8a8724c81ecu);
}

static void test_streams_differ_and_repeat(void)
{
	g_autoptr(GHashTable) seen =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	for (uint64_t seed = 0; seed < 100; seed++) {
		for (uint64_t number = 0; number < 100; number++) {
			struct random_stream random, again;
			uint64_t *first = g_new(uint64_t, 1);

			random_stream_init(&random, seed, number);
			random_stream_init(&again, seed, number);
			*first = random_stream_next(&random);
			g_assert_cmpuint(*first, ==, random_stream_next(&again));
			g_assert_true(g_hash_table_add(seen, first));
		}
	}
}

/* Chi-square over `count` equal bins against its mean plus six deviations. */
static void assert_uniform(const uint64_t *bins, uint64_t count, uint64_t draws)
{
	const double expected = (double)draws / (double)count;
	double chi2 = 0;

	for (uint64_t i = 0; i < count; i++)
		chi2 += pow((double)bins[i] - expected, 2) / expected;
	g_assert_cmpfloat(fabs(chi2 - (double)(count - 1)), <=,
			  6 * sqrt(2.0 * (double)(count - 1)));
}

static void test_below_is_uniform(void)
{
	static const uint64_t limits[] = {1, 2, 3, 7, 10, 64, 100};
	const uint64_t draws = 200000;

	for (gsize i = 0; i < G_N_ELEMENTS(limits); i++) {
		uint64_t bins[100] = {0};
		struct random_stream random;

		random_stream_init(&random, 42, i);
		for (uint64_t d = 0; d < draws; d++) {
			const uint64_t value = random_stream_below(&random, limits[i]);

			g_assert_cmpuint(value, <, limits[i]);
			bins[value]++;
		}
		assert_uniform(bins, limits[i], draws);
	}
}

/* With n = 3/4 of 2^64 a plain modulo would hit the lower third twice as often. */
static void test_below_has_no_modulo_bias(void)
{
	const uint64_t n = UINT64_C(3) << 62;
	const uint64_t draws = 30000;
	uint64_t bins[3] = {0};
	struct random_stream random;

	random_stream_init(&random, 7, 0);
	for (uint64_t d = 0; d < draws; d++)
		bins[random_stream_below(&random, n) / (n / 3)]++;
	assert_uniform(bins, 3, draws);
}

static void test_uniform_fills_the_unit_interval(void)
{
	const uint64_t draws = 200000;
	uint64_t bins[100] = {0};
	struct random_stream random;

	random_stream_init(&random, 1, 0);
	for (uint64_t d = 0; d < draws; d++) {
		const double value = random_stream_uniform(&random);

		g_assert_cmpfloat(value, >=, 0.0);
		g_assert_cmpfloat(value, <, 1.0);
		bins[(int)(value * 100)]++;
	}
	assert_uniform(bins, 100, draws);
}

static void test_exponential_has_its_mean_and_deviation(void)
{
	const int draws = 200000;
	const double mean = 12.5;
	double sum = 0, squares = 0;
	struct random_stream random;

	random_stream_init(&random, 1, 0);
	for (int d = 0; d < draws; d++) {
		const double value = random_stream_exponential(&random, mean);

		g_assert_true(isfinite(value) && value >= 0);
		sum += value;
		squares += value * value;
	}
	/* The mean of n draws deviates by mean / sqrt(n): six of these. */
	g_assert_cmpfloat(fabs(sum / draws - mean), <, 6 * mean / sqrt(draws));
	g_assert_cmpfloat(fabs(sqrt(squares / draws - pow(sum / draws, 2)) / mean - 1), <, 0.02);
}

static void test_normal_has_its_moments(void)
{
	const int draws = 200000;
	double sum = 0, squares = 0, fourths = 0;
	struct random_stream random;

	random_stream_init(&random, 1, 0);
	for (int d = 0; d < draws; d++) {
		const double value = random_stream_normal(&random);

		g_assert_true(isfinite(value));
		sum += value;
		squares += value * value;
		fourths += pow(value, 4);
	}
	/* Six deviations of each mean: those of the powers are 1, sqrt(2) and sqrt(96). */
	g_assert_cmpfloat(fabs(sum / draws), <, 6 / sqrt(draws));
	g_assert_cmpfloat(fabs(squares / draws - 1), <, 6 * sqrt(2.0 / draws));
	g_assert_cmpfloat(fabs(fourths / draws - 3), <, 6 * sqrt(96.0 / draws));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/random/known-answer", test_generator_gives_the_published_numbers);
	g_test_add_func("/random/seeding", test_stream_0_is_the_textbook_seeding);
	g_test_add_func("/random/streams-differ-and-repeat", test_streams_differ_and_repeat);
	g_test_add_func("/random/below-is-uniform", test_below_is_uniform);
	g_test_add_func("/random/below-has-no-modulo-bias", test_below_has_no_modulo_bias);
	g_test_add_func("/random/uniform", test_uniform_fills_the_unit_interval);
	g_test_add_func("/random/exponential", test_exponential_has_its_mean_and_deviation);
	g_test_add_func("/random/normal", test_normal_has_its_moments);
	return g_test_run();
}
