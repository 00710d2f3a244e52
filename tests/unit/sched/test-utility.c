/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "controller/sched/utility.h"

/* Full value for 10 s, a jump to 0.8, linear to 0.4 over 20 s, then exponential towards 0.1. */
static const struct utility steps = {
	.max = 5,
	.segments_count = 3,
	.segments =
		{
			{UTILITY_CONSTANT, 10, 1, 1, 0},
			{UTILITY_LINEAR, 20, 0.8, 0.4, 0},
			{UTILITY_EXPONENTIAL, 60, 0.4, 0.1, 0.05},
		},
};

static void test_values(void)
{
	const struct {
		double age_s;
		double value;
	} cases[] = {
		{-5, 5},
		{0, 5},
		{9.999, 5},
		{10, 5},
		{10.0000001, 5 * (0.8 - 0.02e-7)},
		{20, 3},
		{29.99999, 2.000001},
		{30, 2},
		{50, 5 * (0.1 + 0.3 * exp(-1))},
		{89.9999, 5 * (0.1 + 0.3 * exp(-0.05 * 59.9999))},
		{90, 5 * (0.1 + 0.3 * exp(-0.05 * 60))},
		{90.0000001, 0},
		{1e9, 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpfloat_with_epsilon(utility_value(&steps, cases[i].age_s),
					       cases[i].value, 1e-9);
	g_assert_cmpfloat(utility_end_s(&steps), ==, 90);
}

/* Completion times are sums: what is the width on paper is the width. */
static void test_step(void)
{
	static const struct utility step = {
		.max = 2,
		.segments_count = 1,
		.segments = {{UTILITY_CONSTANT, 11, 1, 1, 0}},
	};
	const struct {
		double arrival_s;
		double end_s;
		double value;
	} cases[] = {
		{4, 12 + 3, 2},
		{4.1, 12.1 + 3, 2},
		{0.1, 0.2 + 10.9, 2},
		{86400.1, 86401.3 + 9.8, 2},
		{2592004.4, 2592012.1 + 3.3, 2},
		{4, 15.0001, 0},
		{4, 14.9999, 2},
		{4, 3, 2},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
		g_assert_cmpfloat(utility_at(&step, cases[i].arrival_s, cases[i].end_s), ==,
				  cases[i].value);
}

/*
 * Where a segment starts lower than the one before it ended, both hold for an instant: the higher
 * counts.
 */
static void test_jump(void)
{
	const struct utility utility = {
		.max = 10,
		.segments_count = 2,
		.segments = {{UTILITY_LINEAR, 0.3, 1, 0.5, 0},
			     {UTILITY_CONSTANT, 0.7, 0.2, 0.2, 0}},
	};

	g_assert_cmpfloat(utility_value(&utility, 0.1 + 0.2), ==, 5);
	g_assert_cmpfloat(utility_value(&utility, 0.3001), ==, 2);
	g_assert_cmpfloat(utility_value(&utility, 1), ==, 2);
	g_assert_cmpfloat(utility_value(&utility, 1.0001), ==, 0);
}

/* Machovec 2018, section 6.2, for a type whose least execution time is 430 s. */
static void test_testbed(void)
{
	const struct utility utility = utility_testbed(3, 2.5 * 430, 4 * 430);

	g_assert_cmpint(utility_check(&utility, NULL), ==, UTILITY_FAULT_NONE);
	g_assert_cmpfloat(utility_value(&utility, 1074), ==, 3);
	g_assert_cmpfloat_with_epsilon(utility_value(&utility, 1397.5), 1.5, 1e-12);
	g_assert_cmpfloat(utility_value(&utility, 1720), ==, 0);
}

static void test_never_increases(void)
{
	double last = steps.max;

	for (double age_s = -1; age_s < 100; age_s += 0.0625) {
		const double value = utility_value(&steps, age_s);

		g_assert_cmpfloat(value, <=, last);
		last = value;
	}
}

static void test_faults(void)
{
	const struct {
		struct utility utility;
		enum utility_fault fault;
		uint32_t segment;
	} cases[] = {
		{{0, 1, {{UTILITY_CONSTANT, 1, 1, 1, 0}}}, UTILITY_FAULT_MAX, 0},
		{{(double)NAN, 1, {{UTILITY_CONSTANT, 1, 1, 1, 0}}}, UTILITY_FAULT_MAX, 0},
		{{1, 0, {{0}}}, UTILITY_FAULT_COUNT, 0},
		{{1, UTILITY_SEGMENTS_MAX + 1, {{0}}}, UTILITY_FAULT_COUNT, 0},
		{{1, 1, {{(enum utility_curve)7, 1, 1, 1, 0}}}, UTILITY_FAULT_CURVE, 0},
		{{1, 1, {{UTILITY_CONSTANT, 0, 1, 1, 0}}}, UTILITY_FAULT_DURATION, 0},
		{{1, 1, {{UTILITY_CONSTANT, (double)INFINITY, 1, 1, 0}}},
		 UTILITY_FAULT_DURATION,
		 0},
		{{1, 1, {{UTILITY_CONSTANT, 1, 1.5, 1.5, 0}}}, UTILITY_FAULT_FRACTION, 0},
		{{1, 1, {{UTILITY_LINEAR, 1, 1, -0.5, 0}}}, UTILITY_FAULT_FRACTION, 0},
		{{1, 1, {{UTILITY_CONSTANT, 1, 1, 0.5, 0}}}, UTILITY_FAULT_CURVE, 0},
		{{1, 1, {{UTILITY_LINEAR, 1, 1, 0.5, 3}}}, UTILITY_FAULT_CURVE, 0},
		{{1, 1, {{UTILITY_EXPONENTIAL, 1, 1, 0.5, 0}}}, UTILITY_FAULT_CURVE, 0},
		{{1, 1, {{UTILITY_LINEAR, 1, 0.5, 1, 0}}}, UTILITY_FAULT_INCREASES, 0},
		{{1, 2, {{UTILITY_LINEAR, 1, 1, 0.5, 0}, {UTILITY_CONSTANT, 1, 0.6, 0.6, 0}}},
		 UTILITY_FAULT_INCREASES,
		 1},
		{steps, UTILITY_FAULT_NONE, 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint32_t segment = 99;

		g_assert_cmpint(utility_check(&cases[i].utility, &segment), ==, cases[i].fault);
		g_assert_cmpuint(segment, ==, cases[i].segment);
		g_assert_nonnull(utility_fault_text(cases[i].fault));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/utility/values follow segments, jumps and curves", test_values);
	g_test_add_func("/utility/a step is worth its value at exactly its width", test_step);
	g_test_add_func("/utility/at a jump the higher value counts", test_jump);
	g_test_add_func("/utility/the testbed's function is one case", test_testbed);
	g_test_add_func("/utility/values never increase", test_never_increases);
	g_test_add_func("/utility/a function that makes no sense is refused with its segment",
			test_faults);
	return g_test_run();
}
