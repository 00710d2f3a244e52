/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/clock.h"

#include <string.h>

static void test_clock_goes_forward(void)
{
	const int64_t first = clock_now_ns();
	int64_t last = first;

	for (int i = 0; i < 1000; i++) {
		const int64_t now = clock_now_ns();

		g_assert_cmpint(now, >=, last);
		last = now;
	}
	g_assert_cmpint(first, >, 0);
	g_assert_cmpint(last - first, <, INT64_C(10000000000));
}

static void test_elapsed_is_in_seconds(void)
{
	g_assert_cmpfloat(clock_elapsed_s(1500000000, 4000000000), ==, 2.5);
	g_assert_cmpfloat(clock_elapsed_s(4000000000, 1500000000), ==, -2.5);
}

static void test_boot_id_is_stable_and_one_line(void)
{
	g_autofree char *first = clock_boot_id();
	g_autofree char *second = clock_boot_id();

	g_assert_cmpstr(first, ==, second);
	g_assert_true(g_uuid_string_is_valid(first));
}

static void test_utc_is_iso_8601_with_milliseconds(void)
{
	g_autofree char *text = clock_utc();
	g_autoptr(GDateTime) parsed = g_date_time_new_from_iso8601(text, NULL);
	g_autoptr(GDateTime) now = g_date_time_new_now_utc();

	g_assert_cmpuint(strlen(text), ==, strlen("2026-01-31T23:59:59.123Z"));
	g_assert_nonnull(parsed);
	g_assert_cmpint(g_date_time_difference(now, parsed), <, 60 * G_TIME_SPAN_SECOND);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock/goes-forward", test_clock_goes_forward);
	g_test_add_func("/clock/elapsed-is-in-seconds", test_elapsed_is_in_seconds);
	g_test_add_func("/clock/boot-id", test_boot_id_is_stable_and_one_line);
	g_test_add_func("/clock/utc", test_utc_is_iso_8601_with_milliseconds);
	return g_test_run();
}
