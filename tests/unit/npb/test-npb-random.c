/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "benchmarks/npb/npb_random.h"

static void test_sequence_starts_as_published(void)
{
	static const uint64_t expected[] = {
		55909509111989,
		61155031930969,
		45573031421645,
		55279057169489,
	};
	struct npb_random random;

	npb_random_init(&random, NPB_RANDOM_SEED);
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpuint(npb_random_next(&random), ==, expected[i]);
}

static void test_other_seed_starts_as_published(void)
{
	struct npb_random random;

	npb_random_init(&random, 271828183);
	g_assert_cmpuint(npb_random_next(&random), ==, 32883653486115);
	g_assert_cmpuint(npb_random_next(&random), ==, 55063727434591);
}

static void test_skip_reaches_the_published_value(void)
{
	struct npb_random random;

	npb_random_init(&random, NPB_RANDOM_SEED);
	npb_random_skip(&random, 1 << 20);
	g_assert_cmpuint(random.x, ==, 11331457101985);
}

static void test_skip_equals_drawing(void)
{
	static const uint64_t steps[] = {0, 1, 2, 3, 7, 64, 1000, 4097};

	for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
		struct npb_random drawn, skipped;

		npb_random_init(&drawn, NPB_RANDOM_SEED);
		skipped = drawn;
		for (uint64_t k = 0; k < steps[i]; k++)
			npb_random_next(&drawn);
		npb_random_skip(&skipped, steps[i]);
		g_assert_cmpuint(drawn.x, ==, skipped.x);
	}
}

static void test_deviates_are_exact_fractions(void)
{
	struct npb_random random;

	npb_random_init(&random, NPB_RANDOM_SEED);
	for (int i = 0; i < 1000; i++) {
		double u = npb_random_uniform(&random);

		g_assert_cmpfloat(u, >, 0.0);
		g_assert_cmpfloat(u, <, 1.0);
		g_assert_true(u * 0x1p46 == (double)random.x);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/random/sequence", test_sequence_starts_as_published);
	g_test_add_func("/npb/random/other-seed", test_other_seed_starts_as_published);
	g_test_add_func("/npb/random/skip-far", test_skip_reaches_the_published_value);
	g_test_add_func("/npb/random/skip-near", test_skip_equals_drawing);
	g_test_add_func("/npb/random/deviates", test_deviates_are_exact_fractions);
	return g_test_run();
}
