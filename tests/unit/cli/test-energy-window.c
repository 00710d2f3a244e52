/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `virtbed energy` and `virtbed top` say of a limit of energy per window. */
#include <glib.h>

#include "controller/cli/energy_window.h"
#include "tests/unit/cli/document.h"

#define NUMBERS                                                                                            \
	"\"limit_j\": 3500.0, \"begin_s\": 0.0, \"end_s\": 3600.0, \"end_utc\": \"2026-01-31T10:00:00Z\"," \
	" \"spent_j\": 2310.04, \"committed_j\": 400.0, \"left_j\": 789.96, \"forecast_j\": 2600.0,"       \
	" \"overshoot_j\": 3.25, \"meters\": 3, \"bound_j\": 56.0, \"power_w\": 80.0,"                     \
	" \"sampling_s\": 0.5, \"refresh_s\": 0.0, \"reaction_s\": 0.2"

static const struct {
	const char *window;
	const char *text;
} cases[] = {
	{"{" NUMBERS
	 ", \"holds\": true, \"exhausted\": false, \"refusals\": 0, \"meters_silent\": 0, \"windows_unknown\": 0}",
	 "energy limit: 2310.0 J of 3500.0 J used, 400.0 J committed, forecast 2600.0 J; until "
	 "2026-01-31T10:00:00Z, in 10:00\n"
	 "by the estimates of what runs it holds until then\n"
	 "it can be exceeded by 56.0 J: at most 80.0 W above idle so far x (0.5 s between samples + 0.0 s of "
	 "the meters' refresh + 0.2 s until tasks stood still or were over); so far it was by 3.2 J\n"},
	{"{" NUMBERS
	 ", \"holds\": false, \"exhausted\": true, \"refusals\": 1, \"meters_silent\": 2, \"windows_unknown\": 1}",
	 "energy limit: 2310.0 J of 3500.0 J used, nothing more runs, 400.0 J committed, forecast 2600.0 J; "
	 "until 2026-01-31T10:00:00Z, in 10:00\n"
	 "by the estimates of what runs it does not hold until then\n"
	 "1 task was refused for want of energy\n"
	 "2 of 3 meters report nothing now: their last watts are assumed to hold\n"
	 "1 window ended while a meter said nothing: what it drew then is not known yet, and can be more than the bound below\n"
	 "it can be exceeded by 56.0 J: at most 80.0 W above idle so far x (0.5 s between samples + 0.0 s of "
	 "the meters' refresh + 0.2 s until tasks stood still or were over); so far it was by 3.2 J\n"},
};

static void test_text(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) window = document(cases[i].window);
		g_autofree char *text = energy_window_text(window, 3000);

		g_assert_cmpstr(text, ==, cases[i].text);
	}
}

static void test_none(void)
{
	g_autoptr(json_t) null = json_null();

	g_assert_null(energy_window_line(NULL, 0));
	g_assert_null(energy_window_text(NULL, 0));
	g_assert_null(energy_window_text(null, 0));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/energy-window/a limit is told with what it can be exceeded by",
			test_text);
	g_test_add_func("/cli/energy-window/where there is none nothing is told", test_none);
	return g_test_run();
}
