/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "benchmarks/npb/is_keys.h"

struct published {
	char class;
	int32_t first[8];
	int32_t last;
	int64_t sum;
};

static const struct published published[] = {
	{'S', {1585, 825, 1060, 1343, 956, 437, 759, 841}, 962, 67027849},
	{'W', {50737, 26409, 33921, 42989, 30600, 13998, 24301, 26921}, 32561, 34365783705},
};

static int32_t *make_keys(const struct is_class *class, int64_t first, int64_t count)
{
	int32_t *keys = g_new(int32_t, (gsize)count);

	is_keys_fill(class, first, count, keys);
	return keys;
}

static void test_keys_are_the_published_ones(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(published); i++) {
		const struct is_class *class = is_class_find(published[i].class);
		int64_t n = (int64_t)1 << class->keys_log2;
		g_autofree int32_t *keys = make_keys(class, 0, n);
		int64_t sum = 0;

		for (int64_t k = 0; k < n; k++)
			sum += keys[k];
		for (int k = 0; k < 8; k++)
			g_assert_cmpint(keys[k], ==, published[i].first[k]);
		g_assert_cmpint(keys[n - 1], ==, published[i].last);
		g_assert_cmpint(sum, ==, published[i].sum);
	}
}

static void test_blocks_join_to_the_whole(void)
{
	const struct is_class *class = is_class_find('S');
	int64_t n = (int64_t)1 << class->keys_log2;
	g_autofree int32_t *whole = make_keys(class, 0, n);

	for (int ranks = 2; ranks <= 128; ranks *= 8) {
		for (int rank = 0; rank < ranks; rank++) {
			int64_t first = rank * n / ranks;
			g_autofree int32_t *block = make_keys(class, first, n / ranks);

			for (int64_t k = 0; k < n / ranks; k++)
				g_assert_cmpint(block[k], ==, whole[first + k]);
		}
	}
}

/* The whole benchmark in its plainest form: count the smaller keys of each test key. */
static void test_ranks_are_the_published_ones(void)
{
	const struct is_class *class = is_class_find('S');
	int64_t n = (int64_t)1 << class->keys_log2;
	g_autofree int32_t *keys = make_keys(class, 0, n);

	for (int it = 1; it <= IS_ITERATIONS; it++) {
		is_keys_change(class, it, keys);
		for (int t = 0; t < IS_TESTS; t++) {
			int32_t key = keys[class->test_index[t]];
			int32_t rank = 0;

			for (int64_t k = 0; k < n; k++)
				rank += keys[k] < key;
			g_assert_cmpint(rank, ==, is_expected_rank(class, t, it));
		}
	}
}

static void test_unknown_class_is_not_found(void)
{
	g_assert_null(is_class_find('X'));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/is/keys", test_keys_are_the_published_ones);
	g_test_add_func("/npb/is/blocks", test_blocks_join_to_the_whole);
	g_test_add_func("/npb/is/ranks", test_ranks_are_the_published_ones);
	g_test_add_func("/npb/is/unknown-class", test_unknown_class_is_not_found);
	return g_test_run();
}
