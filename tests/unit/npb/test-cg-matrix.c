/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "benchmarks/npb/cg_matrix.h"
#include "benchmarks/npb/cg_strips.h"
#include "benchmarks/npb/cg_vector.h"

typedef struct cg_matrix cg_matrix;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(cg_matrix, cg_matrix_destroy)
typedef struct cg_strips cg_strips;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(cg_strips, cg_strips_destroy)

static void test_class_s_has_the_published_entries(void)
{
	const struct cg_class *class = cg_class_find('S');
	g_autoptr(cg_matrix) m = cg_matrix_create(class, 0, class->n, NULL);

	g_assert_nonnull(m);
	g_assert_cmpint(m->start[m->rows], ==, 78148);
	g_assert_cmpint(m->column[m->start[0]], ==, 0);
	g_assert_cmpfloat_with_epsilon(m->value[m->start[0]], -8.827405531242736, 1e-13);
}

static void test_rows_are_sorted_without_duplicates(void)
{
	const struct cg_class *class = cg_class_find('W');
	g_autoptr(cg_matrix) m = cg_matrix_create(class, 0, class->n, NULL);

	for (int32_t r = 0; r < m->rows; r++)
		for (int64_t e = m->start[r] + 1; e < m->start[r + 1]; e++)
			g_assert_cmpint(m->column[e - 1], <, m->column[e]);
}

static double entry(const cg_matrix *m, int32_t row, int32_t column)
{
	for (int64_t e = m->start[row]; e < m->start[row + 1]; e++)
		if (m->column[e] == column)
			return m->value[e];
	return 0.0;
}

static void test_matrix_is_symmetric(void)
{
	const struct cg_class *class = cg_class_find('S');
	g_autoptr(cg_matrix) m = cg_matrix_create(class, 0, class->n, NULL);

	for (int32_t r = 0; r < m->rows; r += 7)
		for (int64_t e = m->start[r]; e < m->start[r + 1]; e++)
			g_assert_cmpfloat_with_epsilon(m->value[e], entry(m, m->column[e], r),
						       1e-15);
}

static void test_blocks_join_to_the_whole(void)
{
	const struct cg_class *class = cg_class_find('S');
	g_autoptr(cg_matrix) whole = cg_matrix_create(class, 0, class->n, NULL);

	for (int32_t first = 0; first < class->n; first += 350) {
		g_autoptr(cg_matrix) m = cg_matrix_create(class, first, 350, NULL);
		int64_t shift = whole->start[first];

		g_assert_cmpint(m->start[350], ==, whole->start[first + 350] - shift);
		for (int64_t e = 0; e < m->start[350]; e++) {
			g_assert_cmpint(m->column[e], ==, whole->column[shift + e]);
			g_assert_cmpfloat_with_epsilon(m->value[e], whole->value[shift + e], 1e-15);
		}
	}
}

/* Inverse iteration written out on one rank; zeta of the first three iterations is published. */
static double iterate(const cg_strips *m, int32_t n, double *x, double shift)
{
	g_autofree double *z = g_new0(double, (gsize)n), *q = g_new0(double, (gsize)n);
	g_autofree double *r = g_new(double, (gsize)n), *p = g_new(double, (gsize)n);
	double rho, zeta;

	cg_copy_scaled(n, 1.0, x, r);
	cg_copy_scaled(n, 1.0, x, p);
	rho = cg_dot(n, r, r);
	for (int step = 0; step < 25; step++) {
		double before = rho, alpha;

		cg_strips_multiply(m, p, q);
		alpha = rho / cg_dot(n, p, q);
		cg_add(n, alpha, p, z);
		cg_add(n, -alpha, q, r);
		rho = cg_dot(n, r, r);
		cg_scale_add(n, rho / before, r, p);
	}
	zeta = shift + 1.0 / cg_dot(n, x, z);
	cg_copy_scaled(n, 1.0 / sqrt(cg_dot(n, z, z)), z, x);
	return zeta;
}

static void test_zeta_follows_the_published_values(void)
{
	static const double expected[] = {9.9986441579140, 8.5733279203222, 8.5954510374058};
	const struct cg_class *class = cg_class_find('S');
	g_autoptr(cg_matrix) matrix = cg_matrix_create(class, 0, class->n, NULL);
	g_autoptr(cg_strips) m = cg_strips_create(matrix, class->n);
	g_autofree double *x = g_new(double, (gsize) class->n);

	for (int32_t i = 0; i < class->n; i++)
		x[i] = 1.0;
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++)
		g_assert_cmpfloat_with_epsilon(iterate(m, class->n, x, class->shift), expected[i],
					       1e-12);
}

/* Blocks of several classes, so that some are cut and some are not. */
static void test_strips_multiply_as_the_matrix_does(void)
{
	static const struct {
		char class;
		int32_t first, rows;
	} cases[] = {
		{'S', 0, 1400}, {'S', 350, 350}, {'W', 0, 7000}, {'W', 6999, 1}, {'A', 7, 500}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct cg_class *class = cg_class_find(cases[i].class);
		g_autoptr(cg_matrix) m =
			cg_matrix_create(class, cases[i].first, cases[i].rows, NULL);
		g_autoptr(cg_strips) strips = cg_strips_create(m, class->n);
		g_autofree double *x = g_new(double, (gsize) class->n);
		g_autofree double *y = g_new(double, (gsize)m->rows);

		for (int32_t c = 0; c < class->n; c++)
			x[c] = sin(c);
		cg_strips_multiply(strips, x, y);
		for (int32_t r = 0; r < m->rows; r++) {
			double sum = 0.0;

			for (int64_t e = m->start[r]; e < m->start[r + 1]; e++)
				sum += m->value[e] * x[m->column[e]];
			g_assert_cmpfloat_with_epsilon(y[r], sum, 1e-12);
		}
	}
}

static void test_the_steps_of_a_block_are_counted(void)
{
	const struct cg_class *class = cg_class_find('W');
	struct npb_progress progress = {.fd = -1, .total = INT64_MAX};
	g_autoptr(cg_matrix) m = cg_matrix_create(class, 10, 20, &progress);

	g_assert_nonnull(m);
	g_assert_cmpint(progress.done, ==, cg_matrix_steps(class));
	g_assert_cmpint(progress.done, >, 10);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/npb/cg/entries", test_class_s_has_the_published_entries);
	g_test_add_func("/npb/cg/sorted", test_rows_are_sorted_without_duplicates);
	g_test_add_func("/npb/cg/symmetric", test_matrix_is_symmetric);
	g_test_add_func("/npb/cg/blocks", test_blocks_join_to_the_whole);
	g_test_add_func("/npb/cg/strips", test_strips_multiply_as_the_matrix_does);
	g_test_add_func("/npb/cg/steps", test_the_steps_of_a_block_are_counted);
	g_test_add_func("/npb/cg/zeta", test_zeta_follows_the_published_values);
	return g_test_run();
}
