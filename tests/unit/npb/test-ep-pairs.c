/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "benchmarks/npb/ep_pairs.h"
#include "benchmarks/npb/npb_random.h"

static void test_class_s_has_the_published_sums_and_counts(void)
{
	static const int64_t counts[EP_ANNULI] = {6140517, 5865300, 1100361, 68546, 1648, 17};
	const struct ep_class *class = ep_class_find('S');
	struct npb_progress progress = {.fd = -1, .total = INT64_MAX};
	struct ep_sums sums;

	ep_pairs_add_up(0, (int64_t)1 << (class->pairs_log2 - EP_BATCH_LOG2), &progress, &sums);
	g_assert_cmpint(progress.done, ==, 256);
	g_assert_cmpfloat(fabs((sums.x - class->sum_x) / class->sum_x), <=, 1e-12);
	g_assert_cmpfloat(fabs((sums.y - class->sum_y) / class->sum_y), <=, 1e-12);
	for (int l = 0; l < EP_ANNULI; l++)
		g_assert_cmpint(sums.counts[l], ==, counts[l]);
}

/* The rules word for word: one pair after the other, with the library's logarithm. */
static void add_up_plainly(int64_t first, int64_t count, struct ep_sums *ret_sums)
{
	struct npb_random random;

	*ret_sums = (struct ep_sums){0};
	npb_random_init(&random, NPB_RANDOM_SEED_EP);
	npb_random_skip(&random, (uint64_t)first << (EP_BATCH_LOG2 + 1));
	for (int64_t j = 0; j < count << EP_BATCH_LOG2; j++) {
		double x = 2.0 * npb_random_uniform(&random) - 1.0;
		double y = 2.0 * npb_random_uniform(&random) - 1.0;
		double t = x * x + y * y;
		double s;

		if (t > 1.0)
			continue;
		s = sqrt(-2.0 * log(t) / t);
		ret_sums->x += x * s;
		ret_sums->y += y * s;
		ret_sums->counts[(int)fmax(fabs(x * s), fabs(y * s))]++;
	}
}

static void assert_same(const struct ep_sums *a, const struct ep_sums *b)
{
	g_assert_cmpfloat_with_epsilon(a->x, b->x, 1e-9);
	g_assert_cmpfloat_with_epsilon(a->y, b->y, 1e-9);
	for (int l = 0; l < EP_ANNULI; l++)
		g_assert_cmpint(a->counts[l], ==, b->counts[l]);
}

static void test_any_batches_give_what_the_rules_say(void)
{
	static const struct {
		int64_t first, count;
	} cases[] = {{0, 1}, {1, 1}, {0, 3}, {255, 1}, {65535, 1}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct ep_sums sums, plain;

		ep_pairs_add_up(cases[i].first, cases[i].count, NULL, &sums);
		add_up_plainly(cases[i].first, cases[i].count, &plain);
		assert_same(&sums, &plain);
	}
}

static void test_no_batches_give_nothing(void)
{
	struct ep_sums sums, zero = {0};

	ep_pairs_add_up(7, 0, NULL, &sums);
	assert_same(&sums, &zero);
}

static void test_unknown_class_is_not_found(void)
{
	g_assert_null(ep_class_find('X'));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/ep/class-s", test_class_s_has_the_published_sums_and_counts);
	g_test_add_func("/npb/ep/batches", test_any_batches_give_what_the_rules_say);
	g_test_add_func("/npb/ep/nothing", test_no_batches_give_nothing);
	g_test_add_func("/npb/ep/unknown-class", test_unknown_class_is_not_found);
	return g_test_run();
}
