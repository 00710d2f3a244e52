/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "benchmarks/npb/mg_cycle.h"
#include "benchmarks/npb/npb_random.h"

static double *point(const struct mg_grid *grid, int i, int j, int k)
{
	int mask = grid->n - 1;

	return &mg_grid_plane(grid, k & mask)[(size_t)(j & mask) * grid->row + (size_t)(i & mask)];
}

/* A whole cube of noise; the caller finishes it. */
static struct mg_grid noise(int n, uint64_t seed)
{
	struct mg_grid grid = {0};
	struct npb_random random;

	g_assert_cmpint(mg_grid_init(&grid, n, 0, n, true), ==, 0);
	npb_random_init(&random, seed);
	for (int k = 0; k < n; k++)
		for (int j = 0; j < n; j++)
			for (int i = 0; i < n; i++)
				*point(&grid, i, j, k) = npb_random_uniform(&random) - 0.5;
	return grid;
}

/* The 27-point operator of the weights @c on point (i, j, k), in its plainest form. */
static double apply(const double *c, const struct mg_grid *grid, int i, int j, int k)
{
	double sum = 0.0;

	for (int dk = -1; dk <= 1; dk++)
		for (int dj = -1; dj <= 1; dj++)
			for (int di = -1; di <= 1; di++)
				sum += c[abs(di) + abs(dj) + abs(dk)] *
				       *point(grid, i + di, j + dj, k + dk);
	return sum;
}

static void assert_close(double a, double b)
{
	g_assert_cmpfloat_with_epsilon(a, b, 1e-13);
}

static void test_residual_and_smoother_weigh_27_points(void)
{
	static const double a[4] = {-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0};
	const struct mg_smoother *smoother = &mg_class_find('B')->smoother;
	const double s[4] = {smoother->c0, smoother->c1, smoother->c2, 0.0};

	for (int n = 2; n <= 32; n *= 2) {
		struct mg_grid u = noise(n, 1), v = noise(n, 2), r = noise(n, 3), z = noise(n, 4);

		for (int k = 0; k < n; k++) {
			mg_residual(&u, &v, &r, k);
			for (int j = 0; j < n; j++)
				for (int i = 0; i < n; i++)
					assert_close(*point(&r, i, j, k),
						     *point(&v, i, j, k) - apply(a, &u, i, j, k));
		}
		for (int k = 0; k < n; k++) {
			struct mg_grid before = noise(n, 4);

			mg_smooth(smoother, &u, &z, k);
			for (int j = 0; j < n; j++)
				for (int i = 0; i < n; i++)
					assert_close(*point(&z, i, j, k),
						     *point(&before, i, j, k) +
							     apply(s, &u, i, j, k));
			mg_grid_finish(&before);
		}
		mg_grid_finish(&u);
		mg_grid_finish(&v);
		mg_grid_finish(&r);
		mg_grid_finish(&z);
	}
}

static void test_restriction_weighs_27_points(void)
{
	static const double p[4] = {1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0};

	for (int n = 4; n <= 32; n *= 2) {
		struct mg_grid fine = noise(n, 5), coarse = noise(n / 2, 6);

		for (int k = 0; k < n / 2; k++) {
			mg_restrict(&fine, &coarse, k);
			for (int j = 0; j < n / 2; j++)
				for (int i = 0; i < n / 2; i++)
					assert_close(*point(&coarse, i, j, k),
						     apply(p, &fine, 2 * i + 1, 2 * j + 1,
							   2 * k + 1));
		}
		mg_grid_finish(&fine);
		mg_grid_finish(&coarse);
	}
}

/* Each coarse point gives its value to 27 fine points, by 1, 1/2, 1/4, 1/8. */
static void spread(const struct mg_grid *coarse, struct mg_grid *fine)
{
	static const double q[4] = {1.0, 1.0 / 2.0, 1.0 / 4.0, 1.0 / 8.0};

	for (int k = 0; k < coarse->n; k++)
		for (int j = 0; j < coarse->n; j++)
			for (int i = 0; i < coarse->n; i++)
				for (int d = 0; d < 27; d++) {
					int di = d % 3 - 1, dj = d / 3 % 3 - 1, dk = d / 9 - 1;

					*point(fine, 2 * i + 1 + di, 2 * j + 1 + dj,
					       2 * k + 1 + dk) += q[abs(di) + abs(dj) + abs(dk)] *
								  *point(coarse, i, j, k);
				}
}

static void assert_same(const struct mg_grid *a, const struct mg_grid *b)
{
	for (int k = 0; k < a->n; k++)
		for (int j = 0; j < a->n; j++)
			for (int i = 0; i < a->n; i++)
				assert_close(*point(a, i, j, k), *point(b, i, j, k));
}

static void test_prolongation_is_trilinear(void)
{
	for (int n = 4; n <= 32; n *= 2) {
		struct mg_grid coarse = noise(n / 2, 7), fine = noise(n, 8), plain = noise(n, 8);

		spread(&coarse, &plain);
		for (int k = 0; k < n; k++)
			mg_prolong(&coarse, &fine, k, true);
		assert_same(&fine, &plain);
		mg_grid_clear(&plain);
		spread(&coarse, &plain);
		for (int k = 0; k < n; k++)
			mg_prolong(&coarse, &fine, k, false);
		assert_same(&fine, &plain);
		mg_grid_finish(&coarse);
		mg_grid_finish(&fine);
		mg_grid_finish(&plain);
	}
}

/* A slab with copies of its neighbours' planes gives what the whole cube does. */
static void test_a_slab_is_a_part_of_the_whole(void)
{
	struct mg_grid whole = noise(16, 9), result = noise(16, 10);
	struct mg_grid slab = {0}, slab_result = {0};

	g_assert_cmpint(mg_grid_init(&slab, 16, 4, 4, false), ==, 0);
	g_assert_cmpint(mg_grid_init(&slab_result, 16, 4, 4, false), ==, 0);
	for (int k = 3; k <= 8; k++)
		memcpy(mg_grid_plane(&slab, k), mg_grid_plane(&whole, k),
		       whole.plane_size * sizeof(double));
	for (int k = 4; k < 8; k++) {
		mg_residual(&whole, &whole, &result, k);
		mg_residual(&slab, &slab, &slab_result, k);
		g_assert_true(memcmp(mg_grid_plane(&result, k), mg_grid_plane(&slab_result, k),
				     result.plane_size * sizeof(double)) == 0);
	}
	mg_grid_finish(&whole);
	mg_grid_finish(&result);
	mg_grid_finish(&slab);
	mg_grid_finish(&slab_result);
}

static void test_class_s_has_the_published_norms(void)
{
	static const double norms[] = {2.9337960976e-03, 6.3150017906e-04, 1.7360856792e-04,
				       5.3077070057e-05};
	const struct mg_class *class = mg_class_find('S');
	struct mg_cycle *cycle = mg_cycle_create(class, 0, 1, NULL);
	struct npb_progress progress = {.fd = -1, .total = INT64_MAX};
	struct mg_charges charges;

	g_assert_nonnull(cycle);
	mg_charges_find(class->n, 0, class->n, &charges);
	mg_charges_place(&charges, mg_cycle_source(cycle));
	for (int run = 0; run < 2; run++) {
		mg_cycle_reset(cycle);
		mg_cycle_start(cycle);
		g_assert_cmpfloat(mg_cycle_square_sum(cycle), ==, 20);
		for (int i = 0; i < class->iterations; i++) {
			double norm;

			mg_cycle_iterate(cycle, &progress);
			norm = sqrt(mg_cycle_square_sum(cycle) / (32.0 * 32.0 * 32.0));
			g_assert_cmpfloat(fabs(norm / norms[i] - 1.0), <=, 1e-10);
		}
	}
	g_assert_cmpint(progress.done, ==, 2 * class->iterations * mg_cycle_steps(class, 1));
	mg_cycle_destroy(cycle);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/mg/residual-smoother", test_residual_and_smoother_weigh_27_points);
	g_test_add_func("/npb/mg/restriction", test_restriction_weighs_27_points);
	g_test_add_func("/npb/mg/prolongation", test_prolongation_is_trilinear);
	g_test_add_func("/npb/mg/slab", test_a_slab_is_a_part_of_the_whole);
	g_test_add_func("/npb/mg/class-s", test_class_s_has_the_published_norms);
	return g_test_run();
}
