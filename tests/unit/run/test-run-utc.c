/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "common/clock.h"
#include "controller/run/run_utc.h"

/* 2026-01-31T23:59:59.5Z */
#define ZERO_US 1769903999500000

static void test_text(void)
{
	static const struct {
		double time_s;
		const char *text;
	} cases[] = {
		{0, "2026-01-31T23:59:59.500Z"},
		{0.499, "2026-01-31T23:59:59.999Z"},
		{0.5, "2026-02-01T00:00:00.000Z"},
		{-0.5, "2026-01-31T23:59:59.000Z"},
		{86400, "2026-02-01T23:59:59.500Z"},
		{(double)NAN, NULL},
		{(double)INFINITY, NULL},
		{-1e12, NULL},
		{1e300, NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = run_utc_text(ZERO_US, cases[i].time_s);

		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

/* The same however often it is asked for; another run has another start. */
static void test_zero(void)
{
	struct run_utc *utc = run_utc_new(&platform_machine);
	const int64_t t0_ns = clock_now_ns();
	const int64_t now_us = g_get_real_time();
	const int64_t zero_us = run_utc_zero_us(utc, t0_ns);

	g_assert_cmpint(ABS(zero_us - now_us), <, 10 * G_USEC_PER_SEC);
	for (int i = 0; i < 1000; i++)
		g_assert_cmpint(run_utc_zero_us(utc, t0_ns), ==, zero_us);
	g_assert_cmpint(zero_us - run_utc_zero_us(utc, t0_ns - 60000000000), >,
			59 * G_USEC_PER_SEC);
	run_utc_free(utc);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/run-utc/text", test_text);
	g_test_add_func("/run-utc/stays", test_zero);
	return g_test_run();
}
