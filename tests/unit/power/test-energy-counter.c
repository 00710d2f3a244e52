/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/power/energy_counter.h"

#include <glib.h>
#include <stdlib.h>

#include "common/random.h"

#define S INT64_C(1000000000)

/* A sample and what the counter shall be after it. */
struct expected {
	int64_t t_ns;
	int64_t mw;
	enum energy_counter_step step;
	uint64_t energy_uj, gap_uj;
	int64_t covered_ns, gap_ns;
};

static void test_counter_follows_its_rules(void)
{
	static const struct expected cases[] = {
		{5 * S, 100000, ENERGY_COUNTER_FIRST, 0, 0, 0, 0},
		{6 * S, 100000, ENERGY_COUNTER_COVERED, 100000000, 0, 1 * S, 0},
		{7 * S, 200000, ENERGY_COUNTER_COVERED, 250000000, 0, 2 * S, 0},
		{7 * S, 900000, ENERGY_COUNTER_IGNORED, 250000000, 0, 2 * S, 0},
		{6 * S, 900000, ENERGY_COUNTER_IGNORED, 250000000, 0, 2 * S, 0},
		{8 * S, -1, ENERGY_COUNTER_IGNORED, 250000000, 0, 2 * S, 0},
		/* Three intervals are no gap yet: 3 s x 150 W. */
		{10 * S, 100000, ENERGY_COUNTER_COVERED, 700000000, 0, 5 * S, 0},
		/*
		 * A nanosecond more is one; the larger of 100 W and 0 W is held (1 ns is 0.1 uJ).
		 */
		{13 * S + 1, 0, ENERGY_COUNTER_GAP, 1000000000, 300000000, 5 * S, 3 * S + 1},
		{14 * S + 1, 0, ENERGY_COUNTER_COVERED, 1000000000, 300000000, 6 * S, 3 * S + 1},
		/* The larger of 0 W and 50 W. */
		{24 * S + 1, 50000, ENERGY_COUNTER_GAP, 1500000000, 800000000, 6 * S, 13 * S + 1},
	};
	struct energy_counter counter;

	energy_counter_init(&counter, 1.0);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct expected *e = &cases[i];

		g_assert_cmpint(energy_counter_add(&counter, e->t_ns, e->mw), ==, e->step);
		g_assert_cmpuint(counter.energy_uj, ==, e->energy_uj);
		g_assert_cmpuint(counter.gap_uj, ==, e->gap_uj);
		g_assert_cmpint(counter.covered_ns, ==, e->covered_ns);
		g_assert_cmpint(counter.gap_ns, ==, e->gap_ns);
	}
}

static void test_remainders_below_a_microjoule_are_carried(void)
{
	struct energy_counter counter;

	/* 1 mW over 1 us is 0.001 uJ: a thousand of them make one. */
	energy_counter_init(&counter, 1.0);
	for (int i = 0; i <= 1000; i++) {
		energy_counter_add(&counter, 1000 * i, 1);
		g_assert_cmpuint(counter.energy_uj, ==, i / 1000);
	}
}

/* Adds to the integral, and to its gaps. */
static void add_exact(int64_t twice_mw, int64_t ns, bool gap, unsigned __int128 *exact,
		      unsigned __int128 *exact_gap)
{
	const unsigned __int128 area = (unsigned __int128)twice_mw * (uint64_t)ns;

	*exact += area;
	*exact_gap += gap ? area : 0;
}

/*
 * For random samples, gaps included: the counter is the exact integral of the samples, rounded
 * down, at every sample; it never falls; covered and gap time add up to all time.
 */
static void test_counter_is_the_exact_integral_of_any_samples(void)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct energy_counter counter;
		struct random_stream random;
		unsigned __int128 exact = 0, exact_gap = 0; /* in 0.5e-6 uJ */
		int64_t last_ns = 0, last_mw = 0, first_ns = 0;
		uint64_t last_uj = 0;

		random_stream_init(&random, seed, 0);
		energy_counter_init(&counter, 0.25);
		for (int i = 0; i < 1000; i++) {
			const bool gap = random_stream_below(&random, 20) == 0;
			const uint64_t more =
				random_stream_below(&random, gap ? 60 * S : 750000000);
			const int64_t dt = (int64_t)more + (gap ? 750000001 : 1);
			const int64_t t_ns = last_ns + dt;
			const int64_t mw = (int64_t)random_stream_below(&random, 65535001);

			g_assert_cmpint(energy_counter_add(&counter, t_ns, mw), ==,
					i == 0 ? ENERGY_COUNTER_FIRST
					: gap  ? ENERGY_COUNTER_GAP
					       : ENERGY_COUNTER_COVERED);
			if (i == 0)
				first_ns = t_ns;
			else
				add_exact(gap ? 2 * MAX(mw, last_mw) : mw + last_mw, dt, gap,
					  &exact, &exact_gap);
			g_assert_true(counter.energy_uj == (uint64_t)(exact / 2000000));
			g_assert_cmpuint(counter.energy_uj, >=, last_uj);
			g_assert_cmpint(counter.covered_ns + counter.gap_ns, ==, t_ns - first_ns);
			/*
			 * Each gap's part is rounded with the whole: off by less than one per gap.
			 */
			g_assert_cmpint(llabs((int64_t)(exact_gap / 2000000) -
					      (int64_t)counter.gap_uj),
					<=, i + 1);
			last_ns = t_ns;
			last_mw = mw;
			last_uj = counter.energy_uj;
		}
	}
}

static void test_counter_does_not_overflow(void)
{
	struct energy_counter counter;

	energy_counter_init(&counter, 1.0);
	energy_counter_add(&counter, 0, INT64_MAX);
	g_assert_cmpint(energy_counter_add(&counter, INT64_MAX, INT64_MAX), ==, ENERGY_COUNTER_GAP);
	g_assert_cmpuint(counter.energy_uj, ==, INT64_MAX);
	g_assert_cmpuint(counter.gap_uj, ==, INT64_MAX);
	g_assert_cmpint(counter.gap_ns, ==, INT64_MAX);
}

static void test_a_forgotten_sample_integrates_nothing(void)
{
	struct energy_counter counter;

	energy_counter_init(&counter, 1.0);
	energy_counter_add(&counter, 5 * S, 100000);
	energy_counter_add(&counter, 6 * S, 100000);
	energy_counter_forget_last(&counter);
	/* Another boot: its clock is earlier. */
	g_assert_cmpint(energy_counter_add(&counter, 1 * S, 100000), ==, ENERGY_COUNTER_FIRST);
	g_assert_cmpuint(counter.energy_uj, ==, 100000000);
	energy_counter_add(&counter, 2 * S, 100000);
	g_assert_cmpuint(counter.energy_uj, ==, 200000000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/energy-counter/rules", test_counter_follows_its_rules);
	g_test_add_func("/energy-counter/remainders",
			test_remainders_below_a_microjoule_are_carried);
	g_test_add_func("/energy-counter/exact", test_counter_is_the_exact_integral_of_any_samples);
	g_test_add_func("/energy-counter/overflow", test_counter_does_not_overflow);
	g_test_add_func("/energy-counter/forget", test_a_forgotten_sample_integrates_nothing);
	return g_test_run();
}
