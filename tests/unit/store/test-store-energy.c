/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "controller/store/store_energy.h"

/*
 * An independent meter: integrates in the unit of docs/reference/api.md with a remainder that
 * started long before the run, at times that are no round numbers.
 */
struct meter {
	int64_t t_ns;
	int64_t mw;
	int64_t energy_uj;
	int64_t remainder; /* half picojoules, below two million */
};

static void advance(struct meter *meter, int64_t dt_ns, int64_t mw, bool gap)
{
	int64_t sum = gap ? 2 * MAX(meter->mw, mw) : meter->mw + mw;
	int64_t energy = sum * dt_ns + meter->remainder;

	meter->t_ns += dt_ns;
	meter->mw = mw;
	meter->energy_uj += energy / 2000000;
	meter->remainder = energy % 2000000;
}

struct fixture {
	char *dir;
	struct store *store;
	struct store_run run;
};

static void put(struct fixture *fixture, const char *host, int64_t seq, const struct meter *meter,
		bool gap)
{
	g_autoptr(GError) error = NULL;

	g_assert_true(store_add_sample(fixture->store, fixture->run.run, host, seq,
				       (double)meter->t_ns * 1e-9, meter->mw, meter->energy_uj, gap,
				       &error));
	g_assert_no_error(error);
}

/* 500 samples of one host, with a gap of 17 s in the middle. */
static void record(struct fixture *fixture, const char *host, uint32_t seed)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
	struct meter meter = {-700000001, 60000, 123456789012, 1234567};

	put(fixture, host, 0, &meter, false);
	for (int64_t i = 1; i < 500; i++) {
		bool gap = i == 250;
		int64_t dt_ns = gap ? 17000000013 : 250000000 + g_rand_int_range(rand, 0, 999983);

		advance(&meter, dt_ns, g_rand_int_range(rand, 55000, 140000), gap);
		put(fixture, host, i, &meter, gap);
	}
}

static void set_up(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;

	fixture->dir = g_dir_make_tmp("virtbed-energy-XXXXXX", NULL);
	fixture->store = store_open(fixture->dir, true, &error);
	g_assert_no_error(error);
	fixture->run = (struct store_run){.policy = (char *)"max-upr",
					  .measured = true,
					  .ended_s = 100.123456789,
					  .idle_w = 130.7};
	g_assert_true(store_add_run(fixture->store, &fixture->run, &error));
}

static void tear_down(struct fixture *fixture, const void *data)
{
	g_autofree char *file = g_build_filename(fixture->dir, STORE_FILE, NULL);

	store_close(fixture->store);
	g_unlink(file);
	g_rmdir(fixture->dir);
	g_free(fixture->dir);
}

static void test_counters_follow_from_watts(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_energy energy;

	record(fixture, "b1", 1);
	record(fixture, "b2", 2);
	g_assert_true(store_energy_check(fixture->store, &fixture->run, &energy, &error));
	g_assert_cmpuint(energy.hosts, ==, 2);
	g_assert_cmpuint(energy.samples, ==, 1000);
	g_assert_cmpuint(energy.gaps, ==, 2);
	g_assert_cmpuint(energy.mismatches, ==, 0);
	g_assert_cmpfloat(energy.total_j, >, 2 * 55 * 100);
	fixture->run.energy_j = energy.dynamic_j;
	g_assert_true(store_energy_check(fixture->store, &fixture->run, &energy, &error));
	g_assert_cmpfloat(energy.difference_uj, ==, 0);
	fixture->run.energy_j += 2e-6;
	g_assert_true(store_energy_check(fixture->store, &fixture->run, &energy, &error));
	g_assert_cmpfloat_with_epsilon(fabs(energy.difference_uj), 2, 0.1);
}

/* Constant watts: the integral is known without any code. */
static void test_constant_load(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_energy energy;

	for (int64_t i = -1; i <= 102; i++) {
		struct meter meter = {i * 1000000000, 100000, 5000000000 + i * 100000000, 0};

		put(fixture, "b1", i + 2, &meter, false);
	}
	g_assert_true(store_energy_check(fixture->store, &fixture->run, &energy, &error));
	g_assert_cmpuint(energy.mismatches, ==, 0);
	g_assert_cmpfloat(fabs(energy.total_j - 10012.3456789), <, 1e-9);
	g_assert_cmpfloat(fabs(energy.dynamic_j - (100 - 130.7) * 100.123456789), <, 1e-9);
}

static void test_one_microjoule_is_noticed(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_energy energy;
	struct meter meter = {0, 60000, 0, 0};

	put(fixture, "b1", 1, &meter, false);
	advance(&meter, 1000000000, 60000, false);
	put(fixture, "b1", 2, &meter, false);
	advance(&meter, 1000000000, 60000, false);
	meter.energy_uj -= 1; /* rounding down explains it once ... */
	put(fixture, "b1", 3, &meter, false);
	advance(&meter, 1000000000, 60000, false);
	put(fixture, "b1", 4, &meter, false);
	g_assert_true(store_energy_check(fixture->store, &fixture->run, &energy, &error));
	g_assert_cmpuint(energy.mismatches, ==, 1); /* not where no remainder arises */
}

static void test_simulated_run_has_no_samples(struct fixture *fixture, const void *data)
{
	g_autoptr(GError) error = NULL;
	struct store_energy energy;

	fixture->run.energy_j = 1e6;
	g_assert_true(store_energy_check(fixture->store, &fixture->run, &energy, &error));
	g_assert_cmpuint(energy.hosts, ==, 0);
}

#define TEST(path, function) g_test_add(path, struct fixture, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/store-energy/counters follow from watts", test_counters_follow_from_watts);
	TEST("/store-energy/a constant load has the energy of arithmetic", test_constant_load);
	TEST("/store-energy/one microjoule too few is noticed", test_one_microjoule_is_noticed);
	TEST("/store-energy/a simulated run passes without samples",
	     test_simulated_run_has_no_samples);
	return g_test_run();
}
