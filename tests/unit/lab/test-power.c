/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-sched/lab/lab_power.h"

#include <glib.h>

enum { TICK_NS = 200000000 };

static void assert_watts(double got, double wanted)
{
	g_assert_cmpfloat_with_epsilon(got, wanted, 1e-6);
}

static void test_first_reading_is_idle(void)
{
	struct lab_power power;

	lab_power_init(&power, 60, 100);
	/* What the counter holds at first is past: it says nothing about now. */
	assert_watts(lab_power_update(&power, 1000, UINT64_C(5000000000), 1), 60);
}

static void test_watts_are_linear_in_busy_cores(void)
{
	static const struct {
		double busy_cores;
		double watts;
	} cases[] = {{0, 60}, {0.25, 85}, {1, 160}, {1.7, 230}};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct lab_power power;
		double watts = 0;

		lab_power_init(&power, 60, 100);
		for (int64_t tick = 0; tick < 20; tick++)
			watts = lab_power_update(&power, tick * TICK_NS,
						 (uint64_t)(cases[i].busy_cores *
							    (double)(tick * TICK_NS)),
						 1);
		assert_watts(watts, cases[i].watts);
	}
}

static void test_a_step_takes_one_window(void)
{
	struct lab_power power;
	uint64_t busy_ns = 0;

	lab_power_init(&power, 60, 100);
	for (int64_t tick = 0; tick <= 10; tick++)
		assert_watts(lab_power_update(&power, tick * TICK_NS, 0, 1), 60);
	for (int64_t tick = 11; tick <= 20; tick++) {
		double share = (double)MIN(tick - 10, 5) / 5;

		busy_ns += TICK_NS;
		assert_watts(lab_power_update(&power, tick * TICK_NS, busy_ns, 1),
			     60 + share * 100);
	}
}

/* A reader at 1 Hz must see all of the energy, whatever the load does between its readings. */
static void test_readings_a_window_apart_add_up_to_the_energy(void)
{
	struct lab_power power;
	uint64_t busy_ns = 0;
	double energy_j = 0;

	lab_power_init(&power, 0, 100);
	lab_power_update(&power, 0, 0, 1);
	for (int64_t tick = 1; tick <= 50; tick++) {
		double watts;

		busy_ns += (uint64_t)(tick * 7919 % 13) * TICK_NS / 13;
		watts = lab_power_update(&power, tick * TICK_NS, busy_ns, 1);
		if (tick % 5 == 0)
			energy_j += watts * 1;
	}
	g_assert_cmpfloat_with_epsilon(energy_j, 100 * (double)busy_ns / 1e9, 1e-6);
}

static void test_late_ticks_stretch_the_window(void)
{
	struct lab_power power;

	lab_power_init(&power, 60, 100);
	lab_power_update(&power, 0, 0, 1);
	/* Three seconds without a tick, a core busy for all of them. */
	assert_watts(lab_power_update(&power, 15 * INT64_C(200000000), UINT64_C(3000000000), 1),
		     160);
}

static void test_a_counter_that_starts_anew_counts_from_zero(void)
{
	struct lab_power power;
	double watts = 0;

	lab_power_init(&power, 0, 100);
	lab_power_update(&power, 0, UINT64_C(9000000000), 1);
	lab_power_update(&power, TICK_NS, UINT64_C(9000000000) + TICK_NS, 1);
	/* a new group, busy for a tick */
	watts = lab_power_update(&power, 2 * TICK_NS, TICK_NS, 1);
	assert_watts(watts, 100);
}

static void test_a_reading_that_is_not_later_changes_nothing(void)
{
	struct lab_power power;

	lab_power_init(&power, 60, 100);
	lab_power_update(&power, 0, 0, 1);
	assert_watts(lab_power_update(&power, TICK_NS, TICK_NS, 1), 160);
	assert_watts(lab_power_update(&power, TICK_NS, 5 * TICK_NS, 1), 160);
	assert_watts(lab_power_update(&power, 0, 0, 1), 160);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/lab/power/the first reading is idle", test_first_reading_is_idle);
	g_test_add_func("/lab/power/watts are linear in busy cores",
			test_watts_are_linear_in_busy_cores);
	g_test_add_func("/lab/power/a step takes one window", test_a_step_takes_one_window);
	g_test_add_func("/lab/power/readings a window apart add up to the energy",
			test_readings_a_window_apart_add_up_to_the_energy);
	g_test_add_func("/lab/power/late ticks stretch the window",
			test_late_ticks_stretch_the_window);
	g_test_add_func("/lab/power/a counter that starts again counts from zero",
			test_a_counter_that_starts_anew_counts_from_zero);
	g_test_add_func("/lab/power/a reading that is not later changes nothing",
			test_a_reading_that_is_not_later_changes_nothing);
	return g_test_run();
}
