/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "common/random.h"
#include "controller/sched/pet.h"
#include "controller/sched/pmf.h"

static const double masses[] = {0.25, 0, 0.5, 0.125, 0.125};

static void make(struct pmf *ret_pmf, int64_t first)
{
	g_assert_cmpint(pmf_from_masses(ret_pmf, first, masses, 5, PMF_MASS_ERROR, NULL), ==,
			PMF_OK);
}

static void test_values(void)
{
	struct pmf pmf = {0};

	make(&pmf, 3);
	g_assert_cmpfloat(pmf_mass(&pmf), ==, 1);
	g_assert_cmpfloat(pmf_mean(&pmf), ==, 3 + 2 * 0.5 + 3 * 0.125 + 4 * 0.125);
	g_assert_cmpfloat(pmf_until(&pmf, 2), ==, 0);
	g_assert_cmpfloat(pmf_until(&pmf, 4), ==, 0.25);
	g_assert_cmpfloat(pmf_until(&pmf, 5), ==, 0.75);
	g_assert_cmpfloat(pmf_until(&pmf, 700), ==, 1);
	pmf_finish(&pmf);
}

static void test_bad_masses(void)
{
	const struct {
		double masses[3];
		uint32_t count;
		enum pmf_fault fault;
		uint32_t index;
	} cases[] = {
		{{0}, 0, PMF_EMPTY, 0},
		{{0.5, -0.25, 0.75}, 3, PMF_NEGATIVE, 1},
		{{0.5, 0.5, NAN}, 3, PMF_NOT_FINITE, 2},
		{{INFINITY}, 1, PMF_NOT_FINITE, 0},
		{{0.5, 0.25, 0.125}, 3, PMF_MASS, 2},
		{{0.5, 0.5, 0.5}, 3, PMF_MASS, 2},
		{{0, 0, 0}, 3, PMF_MASS, 2},
		{{0.5, 0.5 + 2e-12}, 2, PMF_MASS, 1},
	};
	struct pmf pmf = {0};

	make(&pmf, 3);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t index;

		g_assert_cmpint(pmf_from_masses(&pmf, 0, cases[i].masses, cases[i].count,
						PMF_MASS_ERROR, &index),
				==, cases[i].fault);
		g_assert_cmpuint(index, ==, cases[i].index);
		g_assert_cmpstr(pmf_fault_text(cases[i].fault), !=, "an unknown fault");
		g_assert_cmpfloat(pmf_mean(&pmf), ==, 4.875);
	}
	pmf_finish(&pmf);
}

/* Printed decimals rarely sum to 1; what is made of them does. */
static void test_printed_masses(void)
{
	const double thirds[] = {0, 0.333333, 0.333333, 0.333333, 0};
	struct pmf pmf = {0};

	g_assert_cmpint(pmf_from_masses(&pmf, 1, thirds, 5, 1e-5, NULL), ==, PMF_OK);
	g_assert_cmpint(pmf.first, ==, 2);
	g_assert_cmpuint(pmf.count, ==, 3);
	g_assert_cmpint(pmf_check(&pmf), ==, PMF_OK);
	pmf_finish(&pmf);
}

static void test_samples(void)
{
	const double samples[] = {3.5, 4.49, 4.4, 0.1, 7};
	const double bad[] = {1, 0, 2};
	const double missing[] = {1, 2, NAN};
	struct pmf pmf = {0};
	uint32_t index;

	g_assert_cmpint(pmf_from_samples(&pmf, samples, 5, 1, NULL), ==, PMF_OK);
	g_assert_cmpint(pmf.first, ==, 1);
	g_assert_cmpuint(pmf.count, ==, 7);
	g_assert_cmpfloat(pmf.mass[0], ==, 0.2);
	g_assert_cmpfloat(pmf.mass[3], ==, 0.6);
	g_assert_cmpfloat(pmf.mass[6], ==, 0.2);
	g_assert_cmpint(pmf_from_samples(&pmf, samples, 5, 0.5, NULL), ==, PMF_OK);
	g_assert_cmpint(pmf.first + pmf.count - 1, ==, 14);
	g_assert_cmpint(pmf_from_samples(&pmf, NULL, 0, 1, &index), ==, PMF_EMPTY);
	g_assert_cmpint(pmf_from_samples(&pmf, bad, 3, 1, &index), ==, PMF_TIME);
	g_assert_cmpuint(index, ==, 1);
	g_assert_cmpint(pmf_from_samples(&pmf, missing, 3, 1, &index), ==, PMF_NOT_FINITE);
	g_assert_cmpuint(index, ==, 2);
	g_assert_cmpint(pmf_from_samples(&pmf, samples, 5, 1e-7, &index), ==, PMF_LENGTH);
	pmf_finish(&pmf);
}

static void test_after(void)
{
	struct pmf pmf = {0}, after = {0};

	make(&pmf, 3);
	g_assert_cmpint(pmf_after(&after, &pmf, 2), ==, PMF_OK);
	g_assert_true(pmf_equal(&after, &pmf));
	g_assert_cmpint(pmf_after(&after, &pmf, 5), ==, PMF_OK);
	g_assert_cmpint(after.first, ==, 6);
	g_assert_cmpuint(after.count, ==, 2);
	g_assert_cmpfloat(after.mass[0], ==, 0.5);
	/* Nothing could happen at 4. */
	g_assert_cmpint(pmf_after(&after, &pmf, 3), ==, PMF_OK);
	g_assert_cmpint(after.first, ==, 5);
	g_assert_cmpint(pmf_after(&after, &after, 3), ==, PMF_OK);
	g_assert_cmpint(after.first, ==, 5);
	/* Longer than ever seen. */
	g_assert_cmpint(pmf_after(&after, &pmf, 7), ==, PMF_OK);
	g_assert_cmpint(after.first, ==, 8);
	g_assert_cmpfloat(pmf_mass(&after), ==, 1);
	g_assert_cmpint(pmf_after(&pmf, &pmf, 100), ==, PMF_OK);
	g_assert_cmpint(pmf.first, ==, 101);
	pmf_finish(&pmf);
	pmf_finish(&after);
}

static void test_shift(void)
{
	struct pmf pmf = {0}, shifted = {0};

	make(&pmf, 3);
	g_assert_cmpint(pmf_shift(&shifted, &pmf, -10), ==, PMF_OK);
	g_assert_cmpint(shifted.first, ==, -7);
	g_assert_cmpfloat(pmf_mean(&shifted), ==, pmf_mean(&pmf) - 10);
	g_assert_cmpint(pmf_shift(&shifted, &pmf, PMF_TIME_MAX), ==, PMF_TIME);
	g_assert_cmpint(pmf_shift(&shifted, &pmf, INT64_MIN), ==, PMF_TIME);
	pmf_finish(&pmf);
	pmf_finish(&shifted);
}

/* By definition, and where the bound bites. */
static void test_skewness(void)
{
	const double even[] = {0.25, 0.5, 0.25};
	const double mild[] = {0.4, 0.3, 0.2, 0.1};
	const double right[] = {0.96875, 0, 0, 0, 0, 0.03125};
	const double left[] = {0.03125, 0, 0, 0, 0, 0.96875};
	struct pmf pmf = {0};

	g_assert_cmpint(pmf_from_masses(&pmf, 100, even, 3, 1e-12, NULL), ==, PMF_OK);
	g_assert_cmpfloat(pmf_skewness(&pmf), ==, 0);
	g_assert_cmpint(pmf_from_masses(&pmf, 100, mild, 4, 1e-12, NULL), ==, PMF_OK);
	/* Mean 1, variance 1, third moment -0.4 + 0.2 + 0.8 = 0.6. */
	g_assert_cmpfloat_with_epsilon(pmf_skewness(&pmf), 0.6, 1e-14);
	g_assert_cmpint(pmf_from_masses(&pmf, 1, right, 6, 1e-12, NULL), ==, PMF_OK);
	g_assert_cmpfloat(pmf_skewness(&pmf), ==, 1);
	g_assert_cmpint(pmf_from_masses(&pmf, 1, left, 6, 1e-12, NULL), ==, PMF_OK);
	g_assert_cmpfloat(pmf_skewness(&pmf), ==, -1);
	g_assert_cmpint(pmf_point(&pmf, 7), ==, PMF_OK);
	g_assert_cmpfloat(pmf_skewness(&pmf), ==, 0);
	pmf_finish(&pmf);
}

static void random_pmf(struct random_stream *random, struct pmf *ret_pmf, uint32_t most)
{
	const uint32_t count = 1 + (uint32_t)random_stream_below(random, most);
	g_autofree double *values = g_new0(double, count);
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || random_stream_below(random, 3) > 0)
			sum += values[i] = random_stream_uniform(random) + 1e-9;
	for (uint32_t i = 0; i < count; i++)
		values[i] /= sum;
	g_assert_cmpint(pmf_from_masses(ret_pmf, 1 + (int64_t)random_stream_below(random, 9),
					values, count, 1e-9, NULL),
			==, PMF_OK);
}

/* The bounds that a merge states hold, and it keeps to the number of impulses. */
static void test_merge(void)
{
	struct random_stream random;
	struct pmf pmf = {0}, merged = {0};

	random_stream_init(&random, 7, 1);
	for (unsigned int trial = 0; trial < 2000; trial++) {
		const uint32_t most = 1 + (uint32_t)random_stream_below(&random, 20);
		uint32_t late, impulses = 0;
		double moved;

		random_pmf(&random, &pmf, 60);
		g_assert_cmpint(pmf_merge(&merged, &pmf, most, &late, &moved), ==, PMF_OK);
		g_assert_cmpint(pmf_check(&merged), ==, PMF_OK);
		for (uint32_t i = 0; i < merged.count; i++)
			impulses += merged.mass[i] > 0;
		g_assert_cmpuint(impulses, <=, most);
		g_assert_cmpfloat(moved, <=, 1.0 / most + 1e-12);
		for (int64_t bin = 0; bin < 80; bin++) {
			const double lost = pmf_until(&pmf, bin) - pmf_until(&merged, bin);

			g_assert_cmpfloat(lost, >=, -1e-12);
			g_assert_cmpfloat(lost, <=, moved + 1e-12);
			g_assert_cmpfloat(pmf_until(&merged, bin + late), >=,
					  pmf_until(&pmf, bin) - 1e-12);
		}
		if (late == 0)
			g_assert_true(pmf_equal(&pmf, &merged));
	}
	pmf_finish(&pmf);
	pmf_finish(&merged);
}

static void test_pet(void)
{
	struct pet *pet = pet_new(2, 3);
	struct pmf pmf = {0};
	uint32_t type, machine;

	make(&pmf, 3);
	for (machine = 0; machine < 3; machine++)
		g_assert_cmpint(pet_set(pet, 0, machine, &pmf), ==, PMF_OK);
	g_assert_cmpint(pet_set(pet, 1, 0, &pmf), ==, PMF_OK);
	g_assert_cmpint(pet_check(pet, &type, &machine), ==, PMF_EMPTY);
	g_assert_cmpuint(type, ==, 1);
	g_assert_cmpuint(machine, ==, 1);
	g_assert_cmpfloat(pet_type_mean(pet, 0), ==, 4.875);
	g_assert_cmpfloat(pet_at(pet, 0, 2)->until_back[2], ==, 0.75);
	g_assert_cmpfloat(pet_at(pet, 0, 2)->from_back[2], ==, 0.75);
	g_assert_cmpint(pmf_shift(&pmf, &pmf, -3), ==, PMF_OK);
	g_assert_cmpint(pet_set(pet, 1, 1, &pmf), ==, PMF_TIME);
	pmf_finish(&pmf);
	pet_free(pet);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pmf/has-a-mass-a-mean-and-a-distribution-function", test_values);
	g_test_add_func("/pmf/names-what-is-wrong-with-masses", test_bad_masses);
	g_test_add_func("/pmf/takes-masses-that-were-printed", test_printed_masses);
	g_test_add_func("/pmf/is-a-histogram-of-samples", test_samples);
	g_test_add_func("/pmf/is-conditioned-on-not-having-happened", test_after);
	g_test_add_func("/pmf/shifts", test_shift);
	g_test_add_func("/pmf/has-a-bounded-skewness", test_skewness);
	g_test_add_func("/pmf/merges-within-the-error-it-states", test_merge);
	g_test_add_func("/pet/holds-a-pmf-for-every-pair", test_pet);
	return g_test_run();
}
