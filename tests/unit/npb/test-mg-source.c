/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "benchmarks/npb/mg_source.h"

/* Points (i, j, k) of class S. */
static const int smallest[MG_CHARGES][3] = {
	{0, 11, 2},  {4, 28, 15}, {5, 14, 0},  {5, 17, 8},   {7, 14, 26},
	{8, 25, 22}, {12, 2, 1},  {13, 8, 17}, {20, 19, 11}, {26, 15, 31},
};
static const int largest[MG_CHARGES][3] = {
	{1, 16, 21},  {2, 0, 3},    {4, 22, 3},  {7, 1, 20},  {12, 15, 12},
	{17, 26, 17}, {19, 29, 31}, {21, 31, 6}, {28, 0, 28}, {30, 4, 25},
};

static bool has_point(const struct mg_charge *charges, const int *point)
{
	int64_t number = point[0] + 32 * point[1] + 32 * 32 * point[2];

	for (int i = 0; i < MG_CHARGES; i++)
		if (charges[i].point == number)
			return true;
	return false;
}

static void test_class_s_has_the_published_points(void)
{
	struct mg_charges charges;

	mg_charges_find(mg_class_find('S')->n, 0, 32, &charges);
	for (int i = 0; i < MG_CHARGES; i++) {
		g_assert_true(has_point(charges.smallest, smallest[i]));
		g_assert_true(has_point(charges.largest, largest[i]));
	}
	for (int i = 1; i < MG_CHARGES; i++) {
		g_assert_cmpuint(charges.largest[i - 1].x, >, charges.largest[i].x);
		g_assert_cmpuint(charges.smallest[i - 1].x, <, charges.smallest[i].x);
	}
}

static void test_slabs_join_to_the_whole(void)
{
	struct mg_charges whole;

	mg_charges_find(32, 0, 32, &whole);
	for (int ranks = 2; ranks <= 32; ranks *= 2) {
		struct mg_charges joined;

		mg_charges_find(32, 0, 32 / ranks, &joined);
		for (int r = 1; r < ranks; r++) {
			struct mg_charges slab;

			mg_charges_find(32, r * 32 / ranks, 32 / ranks, &slab);
			mg_charges_merge(&joined, &slab);
		}
		g_assert_cmpmem(&joined, sizeof(joined), &whole, sizeof(whole));
	}
}

/* A slab gets those points that lie in it, and no copies of others. */
static void test_charges_are_placed_on_their_slab(void)
{
	struct mg_charges charges;
	int found = 0;

	mg_charges_find(32, 0, 32, &charges);
	for (int first = 0; first < 32; first += 8) {
		struct mg_grid v = {0};

		g_assert_cmpint(mg_grid_init(&v, 32, first, 8, false), ==, 0);
		mg_charges_place(&charges, &v);
		for (int k = first - 1; k <= first + 8; k++) {
			double square_sum = mg_square_sum(&v, k);

			if (k < first || k == first + 8)
				g_assert_cmpfloat(square_sum, ==, 0);
			found += (int)square_sum;
		}
		for (int i = 0; i < MG_CHARGES; i++) {
			const int *point = largest[i];

			if (point[2] >= first && point[2] < first + 8)
				g_assert_cmpfloat(mg_grid_plane(&v,
								point[2])[(size_t)point[1] * v.row +
									  (size_t)point[0]],
						  ==, 1);
		}
		mg_grid_finish(&v);
	}
	g_assert_cmpint(found, ==, 2 * MG_CHARGES);
}

static void test_unknown_class_is_not_found(void)
{
	g_assert_null(mg_class_find('X'));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/mg/source/class-s", test_class_s_has_the_published_points);
	g_test_add_func("/npb/mg/source/slabs", test_slabs_join_to_the_whole);
	g_test_add_func("/npb/mg/source/placed", test_charges_are_placed_on_their_slab);
	g_test_add_func("/npb/mg/source/unknown-class", test_unknown_class_is_not_found);
	return g_test_run();
}
