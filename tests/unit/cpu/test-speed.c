/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast a CPU ran between two looks, by each source. */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "local-sched/cpu/cpu_speed.h"

#define LIMIT 1600000

/* Half a second later, on a machine whose TSC goes at 2 GHz. */
#define LATER .at_us = 1500000, .has_counts = true, .tsc = 1000000000

static const struct {
	const char *what;
	struct cpu_speed_look before, after;
	bool first; /* there is no look before */
	enum cpu_speed expected;
	uint64_t khz;
} cases[] = {
	{.what = "nothing is known", .expected = CPU_SPEED_UNKNOWN},
	{.what = "one look is within",
	 .first = true,
	 .after = {.khz = LIMIT},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "one look is not",
	 .first = true,
	 .after = {.khz = LIMIT + 1},
	 .expected = CPU_SPEED_PERHAPS,
	 .khz = LIMIT + 1},
	{.what = "a first look where better is to come",
	 .first = true,
	 .after = {.khz = LIMIT, .has_busy = true},
	 .expected = CPU_SPEED_UNKNOWN},
	{.what = "two looks are not",
	 .before = {.khz = 1700000},
	 .after = {.khz = 1800000},
	 .expected = CPU_SPEED_FASTER,
	 .khz = 1800000},
	{.what = "only the first is not",
	 .before = {.khz = 1700000},
	 .after = {.khz = 1500000},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "two looks at a CPU that slept",
	 .before = {.khz = 2660000, .has_busy = true, .busy = 9},
	 .after = {.khz = 2660000, .has_busy = true, .busy = 10},
	 .expected = CPU_SPEED_UNKNOWN},
	{.what = "two looks at a busy CPU",
	 .before = {.khz = 2660000, .has_busy = true, .busy = 9},
	 .after = {.khz = 2660000, .has_busy = true, .busy = 50},
	 .expected = CPU_SPEED_FASTER,
	 .khz = 2660000},
	{.what = "two looks at a CPU that slept half the time",
	 .before = {.at_us = 1000000, .khz = 2660000, .has_busy = true, .busy = 9},
	 .after = {.at_us = 1500000, .khz = 2660000, .has_busy = true, .busy = 34},
	 .expected = CPU_SPEED_UNKNOWN},
	{.what = "two looks at a CPU that never slept",
	 .before = {.at_us = 1000000, .khz = 2660000, .has_busy = true, .busy = 9},
	 .after = {.at_us = 1500000, .khz = 2660000, .has_busy = true, .busy = 58},
	 .expected = CPU_SPEED_FASTER,
	 .khz = 2660000},
	{.what = "counters: within, whatever the looks say",
	 .before = {.at_us = 1000000, .has_counts = true, .khz = 3300000},
	 .after = {LATER, .khz = 3300000, .mperf = 500000000, .aperf = 400000000},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "counters: faster",
	 .before = {.at_us = 1000000, .has_counts = true, .khz = 1600000},
	 .after = {LATER, .khz = 1600000, .mperf = 500000000, .aperf = 750000000},
	 .expected = CPU_SPEED_FASTER,
	 .khz = 3000000},
	{.what = "counters: too little busy to tell",
	 .before = {.at_us = 1000000, .has_counts = true, .khz = 3300000},
	 .after = {LATER, .khz = 3300000, .mperf = 1000000, .aperf = 3000000},
	 .expected = CPU_SPEED_UNKNOWN},
	{.what = "counters that stand still count for nothing",
	 .before = {.at_us = 1000000, .has_counts = true, .tsc = 5, .khz = 1600000},
	 .after = {.at_us = 1500000, .has_counts = true, .tsc = 5, .khz = 1600000},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "counters that were set back",
	 .before = {.at_us = 1000000, .has_counts = true, .mperf = 1 << 20, .khz = 1600000},
	 .after = {LATER, .mperf = 5, .aperf = 7, .khz = 1600000},
	 .expected = CPU_SPEED_UNKNOWN},
	{.what = "counters of a dream",
	 .before = {.at_us = 1000000, .has_counts = true, .khz = 1600000},
	 .after = {LATER, .mperf = 500000000, .aperf = UINT64_MAX, .khz = 1600000},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "states: within",
	 .before = {.states_count = 2, .states = {{3300000, 900}, {1600000, 5}}, .khz = 3300000},
	 .after = {.states_count = 2, .states = {{3300000, 901}, {1600000, 505}}, .khz = 3300000},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "states: faster",
	 .before = {.states_count = 3, .states = {{3300000, 900}, {2000000, 0}, {1600000, 5}}},
	 .after = {.states_count = 3, .states = {{3300000, 900}, {2000000, 30}, {1600000, 50}}},
	 .expected = CPU_SPEED_FASTER,
	 .khz = 2000000},
	{.what = "states of a CPU that slept",
	 .before = {.states_count = 1, .states = {{3300000, 0}}, .has_busy = true},
	 .after = {.states_count = 1, .states = {{3300000, 500}}, .has_busy = true},
	 .expected = CPU_SPEED_UNKNOWN},
	{.what = "states in which no time passes",
	 .before = {.states_count = 1, .states = {{3300000, 900}}, .khz = 1600000},
	 .after = {.states_count = 1, .states = {{3300000, 900}}, .khz = 1600000},
	 .expected = CPU_SPEED_WITHIN},
	{.what = "states of another driver",
	 .before = {.states_count = 1, .states = {{1600000, 0}}, .khz = 1600000},
	 .after = {.states_count = 1, .states = {{3300000, 900}}, .khz = 1600000},
	 .expected = CPU_SPEED_WITHIN},
};

static void test_judging(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint64_t khz;

		g_test_message("%s", cases[i].what);
		g_assert_cmpint(cpu_speed_judge(cases[i].first ? NULL : &cases[i].before,
						&cases[i].after, LIMIT, &khz),
				==, cases[i].expected);
		g_assert_cmpuint(khz, ==, cases[i].khz);
	}
}

static void put(const char *root, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(root, name, NULL);
	g_autofree char *directory = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void test_looking(void)
{
	g_autofree char *root = g_dir_make_tmp("virtbed-test-XXXXXX", NULL);
	const char *const argv[] = {"rm", "-rf", root, NULL};
	struct cpu_speed_look look;
	struct cpu_speed_place place = {.platform = &platform_machine,
					.cpufreq = root,
					.dev_root = root,
					.number = 1};

	cpu_speed_look(&place, &look);
	g_assert_false(cpu_speed_tells(&look));
	put(root, "scaling_cur_freq", "1600000\n");
	put(root, "cpuinfo_cur_freq", "<unknown>\n");
	put(root, "stats/time_in_state", "2661000 1\n1600000 22\n");
	place.proc_stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 8 8 8 8 8 8 8 8 8 8\n"
			  "cpu1 1 2 4 100 100 8 16 32 64 64\ncpu10 7 7 7 7 7 7 7 7 7 7\n";
	cpu_speed_look(&place, &look);
	g_assert_true(cpu_speed_tells(&look));
	g_assert_cmpuint(look.khz, ==, 1600000);
	g_assert_true(look.has_busy);
	g_assert_cmpuint(look.busy, ==, 63);
	g_assert_cmpuint(look.states_count, ==, 2);
	g_assert_cmpuint(look.states[0].khz, ==, 2661000);
	g_assert_cmpuint(look.states[1].ticks, ==, 22);
	g_assert_false(look.has_counts);
	/* Other forms are no source, and neither are registers that end too soon. */
	put(root, "cpu/1/msr", "abc");
	put(root, "cpuinfo_cur_freq", "1596000\n");
	put(root, "stats/time_in_state", "2661000 1\nrubbish\n");
	place.proc_stat = "cpu  9\ncpu1 1 2\n";
	cpu_speed_look(&place, &look);
	g_assert_cmpuint(look.khz, ==, 1596000);
	g_assert_cmpuint(look.states_count, ==, 0);
	g_assert_false(look.has_busy);
	g_assert_false(look.has_counts);
	g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
				   NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cpu-speed/two looks are judged by the best source", test_judging);
	g_test_add_func("/cpu-speed/a look reads what there is", test_looking);
	return g_test_run();
}
