/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Power from counters of unknown pace and range. */
#include "local-sched/power/energy_steps.h"

#define S(seconds) ((int64_t)((seconds)*1e9))

/* One value of two counters, and what is made of it. */
struct value {
	double t_s;
	uint64_t one_uj, two_uj;
	enum energy_steps_verdict verdict;
	int64_t mw;
};

static void assert_values(const struct value *values, gsize count)
{
	struct energy_steps steps;

	energy_steps_init(&steps, 2);
	for (gsize i = 0; i < count; i++) {
		const uint64_t now_uj[] = {values[i].one_uj, values[i].two_uj};
		int64_t mw = -1;

		g_test_message("value %zu", i);
		g_assert_cmpint(energy_steps_add(&steps, now_uj, S(values[i].t_s), &mw), ==,
				values[i].verdict);
		g_assert_cmpint(mw, ==, values[i].mw);
	}
	energy_steps_clear(&steps);
}

static void test_a_fast_counter_needs_one_step_more(void)
{
	static const struct value values[] = {
		{1, 7000000, 100, ENERGY_STEPS_FIRST, -1},
		{1.1, 8000000, 200, ENERGY_STEPS_FIRST, -1},
		{1.2, 23000000, 5000200, ENERGY_STEPS_OK, 200000},
		{2.2, 223000000, 50000200, ENERGY_STEPS_OK, 245000},
	};

	assert_values(values, G_N_ELEMENTS(values));
}

/* 360 J (0.1 Wh) every 2 s are 180 W, never 360 J in the quarter of a second since a look. */
static void test_steps_of_a_slow_counter_are_over_the_time_between_them(void)
{
	static const struct value values[] = {
		{1, 0, 0, ENERGY_STEPS_FIRST, -1},
		{1.25, 360000000, 1, ENERGY_STEPS_FIRST, -1},
		{1.5, 360000000, 1, ENERGY_STEPS_STILL, -1},
		{3, 360000000, 1, ENERGY_STEPS_STILL, -1},
		{3.25, 720000000, 2, ENERGY_STEPS_OK, 180000},
	};

	assert_values(values, G_N_ELEMENTS(values));
}

/* Two outlets of 150 W, of which each moves by a watt-hour every 24 s, the second 5 s later. */
static void test_counters_step_at_times_of_their_own(void)
{
	static const struct value values[] = {
		{1, 0, 0, ENERGY_STEPS_FIRST, -1},
		{10, 3600000000, 0, ENERGY_STEPS_FIRST, -1},
		{15, 3600000000, 3600000000, ENERGY_STEPS_FIRST, -1},
		{34, 7200000000, 3600000000, ENERGY_STEPS_FIRST, -1},
		{39, 7200000000, 7200000000, ENERGY_STEPS_OK, 300000},
		{58, 10800000000, 7200000000, ENERGY_STEPS_OK, 300000},
		{63, 10800000000, 10800000000, ENERGY_STEPS_OK, 300000},
		/* The second one draws a quarter from now on: what it had is no floor. */
		{82, 14400000000, 10800000000, ENERGY_STEPS_OK, 300000},
		/* So long after its last step it may have stopped. */
		{98, 14400000000, 10800000000, ENERGY_STEPS_STILL, -1},
		{106, 18000000000, 10800000000, ENERGY_STEPS_STILL, -1},
		{130, 21600000000, 10800000000, ENERGY_STEPS_STILL, -1},
		{159, 21600000000, 14400000000, ENERGY_STEPS_OK, 124138 + 37500},
	};

	assert_values(values, G_N_ELEMENTS(values));
}

/* It may be stuck, or be an outlet where nothing is plugged in: the counter looks the same. */
static void test_a_counter_that_never_moves_makes_no_sum(void)
{
	static const struct value values[] = {
		{1, 0, 7, ENERGY_STEPS_FIRST, -1},
		{61, 6000000000, 7, ENERGY_STEPS_FIRST, -1},
		{121, 9000000000, 7, ENERGY_STEPS_FIRST, -1},
		{122, 12000000000, 7, ENERGY_STEPS_STILL, -1},
	};

	assert_values(values, G_N_ELEMENTS(values));
}

/* Two supplies of 100 W: the second counter sticks, and the machine's power seems to halve. */
static void test_a_counter_that_sticks_makes_no_sum(void)
{
	static const struct value values[] = {
		{1, 0, 0, ENERGY_STEPS_FIRST, -1},
		{2, 100000000, 100000000, ENERGY_STEPS_FIRST, -1},
		{3, 200000000, 200000000, ENERGY_STEPS_OK, 200000},
		{4, 300000000, 200000000, ENERGY_STEPS_OK, 200000},
		{5, 400000000, 200000000, ENERGY_STEPS_STILL, -1},
		{60, 5900000000, 200000000, ENERGY_STEPS_STILL, -1},
		/* It counts again. */
		{61, 6000000000, 5900000000, ENERGY_STEPS_OK, 198276},
		{62, 6100000000, 6000000000, ENERGY_STEPS_OK, 200000},
	};

	assert_values(values, G_N_ELEMENTS(values));
}

static void test_the_counter_that_is_wrong_is_known(void)
{
	static const uint64_t values[][2] = {{0, 0},     {100, 100}, {200, 200}, {250, 200},
					     {300, 200}, {400, 200}, {500, 100}, {600, 150}};
	static const uint32_t parts[] = {2, 1, 2, 2, 1, 1, 1, 2};
	struct energy_steps steps;
	int64_t mw;

	energy_steps_init(&steps, 2);
	for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
		energy_steps_add(&steps, values[i], S((double)i + 1), &mw);
		g_test_message("value %zu", i);
		g_assert_cmpuint(steps.part, ==, parts[i]);
	}
	energy_steps_clear(&steps);
}

static void test_a_wrap_a_reset_and_a_jump_cost_one_reading(void)
{
	static const struct value values[] = {
		{1, 65535000000, 5000000, ENERGY_STEPS_FIRST, -1},
		{2, 65535100000, 5000001, ENERGY_STEPS_FIRST, -1},
		{2.5, 65535200000, 5000002, ENERGY_STEPS_OK, 200},
		/* One of two counters wraps: the rise of the other is no excuse. */
		{3, 100000, 5000003, ENERGY_STEPS_FELL, -1},
		{4, 200100000, 5000004, ENERGY_STEPS_OK, 200000},
		{5, 200100001, 990000000001, ENERGY_STEPS_JUMP, -1},
		{6, 300100001, 990000000002, ENERGY_STEPS_OK, 100000},
		/* So long unseen that it may have wrapped. */
		{127, 300100002, 990000000003, ENERGY_STEPS_FIRST, -1},
		{128, 300100003, 990000000004, ENERGY_STEPS_FIRST, -1},
		{129, 300200003, 990000000005, ENERGY_STEPS_OK, 100},
		/* A clock that stands still. */
		{129, 300300003, 990000000006, ENERGY_STEPS_FIRST, -1},
	};

	assert_values(values, G_N_ELEMENTS(values));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/energy-steps/a fast counter needs one step more",
			test_a_fast_counter_needs_one_step_more);
	g_test_add_func("/energy-steps/steps of a slow counter are over the time between them",
			test_steps_of_a_slow_counter_are_over_the_time_between_them);
	g_test_add_func("/energy-steps/counters step at times of their own",
			test_counters_step_at_times_of_their_own);
	g_test_add_func("/energy-steps/a counter that never moves makes no sum",
			test_a_counter_that_never_moves_makes_no_sum);
	g_test_add_func("/energy-steps/a counter that sticks makes no sum",
			test_a_counter_that_sticks_makes_no_sum);
	g_test_add_func("/energy-steps/the counter that is wrong is known",
			test_the_counter_that_is_wrong_is_known);
	g_test_add_func("/energy-steps/a wrap, a reset and a jump cost one reading",
			test_a_wrap_a_reset_and_a_jump_cost_one_reading);
	return g_test_run();
}
