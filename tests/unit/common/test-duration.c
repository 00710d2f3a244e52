/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "common/read_number.h"
#include "common/visible.h"

static void test_read(void)
{
	static const struct {
		const char *text;
		double seconds;
	} cases[] = {
		{"0", 0},       {"90", 90},      {"90s", 90},    {"10m", 600},        {"1h", 3600},
		{"1.5h", 5400}, {"1h30m", 5400}, {"2d", 172800}, {"1d2h3m4s", 93784}, {".5s", 0.5},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		double seconds = -1;

		g_assert_true(read_number_duration(cases[i].text, &seconds));
		g_assert_cmpfloat_with_epsilon(seconds, cases[i].seconds, 1e-9);
	}
}

static void test_refused(void)
{
	static const char *const cases[] = {
		"",       "s",    "-1",   "+1",   "1 h", "h1",   "1x",
		"1m1h",   "1h1h", "1..5", "nan",  "inf", "0x10", "1e3",
		"1h30m ", " 1h",  ".",    "1,5h", "1s5", "1h5",  "99999999999999d",
		NULL,
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		double seconds = 7;

		g_assert_false(read_number_duration(cases[i], &seconds));
		g_assert_cmpfloat(seconds, ==, 7);
	}
}

static void test_written(void)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{0, "0:00"},       {-3, "0:00"},           {187.4, "3:07"},    {3599.6, "1:00:00"},
		{3730, "1:02:10"}, {176530, "2-01:02:10"}, {(double)NAN, "-"}, {INFINITY, "-"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = visible_duration(cases[i].seconds);

		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/duration/read", test_read);
	g_test_add_func("/duration/refused", test_refused);
	g_test_add_func("/duration/written", test_written);
	return g_test_run();
}
