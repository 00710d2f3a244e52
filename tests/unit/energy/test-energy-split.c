/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose energy an interval's was: worked cases, and what holds for any numbers. */
#include <glib.h>

#include "controller/energy/ledger.h"

#define PARTS_MAX 8

/* One interval with two tasks, and what has to come of it. */
struct example {
	const char *what;
	struct energy_interval interval;
	uint64_t cpu_ns[2];
	uint64_t idle_uj, task_uj[2], management_uj, unattributed_uj;
};

static const struct example examples[] = {
	{"by CPU time",
	 {10000000, 1000000000, 4000, true, 1000},
	 {2000, 3000},
	 4000000,
	 {2000000, 3000000},
	 1000000,
	 0},
	{"odd microjoules go to the largest remainder",
	 {10, 0, 0, true, 0},
	 {1, 2},
	 0,
	 {3, 7},
	 0,
	 0},
	{"among equals the earlier task has them", {3, 0, 0, true, 1}, {1, 1}, 0, {1, 1}, 1, 0},
	{"and management last", {2, 0, 0, true, 1}, {1, 1}, 0, {1, 1}, 0, 0},
	{"the meter shows less than idle: all is idle",
	 {3000000, 1000000000, 4000, true, 5},
	 {7, 9},
	 3000000,
	 {0, 0},
	 0,
	 0},
	{"nothing was read",
	 {5000000, 1000000000, 4000, false, 5},
	 {7, 9},
	 4000000,
	 {0, 0},
	 0,
	 1000000},
	{"no CPU time was used",
	 {5000000, 1000000000, 4000, true, 0},
	 {0, 0},
	 4000000,
	 {0, 0},
	 0,
	 1000000},
	{"idle is rounded down", {9, 1999999, 1, true, 1}, {0, 0}, 1, {0, 0}, 8, 0},
	{"nothing", {0, 0, 0, true, 0}, {0, 0}, 0, {0, 0}, 0, 0},
	{"the largest numbers",
	 {UINT64_MAX, UINT64_MAX, 0, true, UINT64_MAX},
	 {UINT64_MAX, UINT64_MAX},
	 0,
	 {UINT64_MAX / 3, UINT64_MAX / 3},
	 UINT64_MAX / 3,
	 0},
	{"idle beyond 64 bits",
	 {UINT64_MAX, UINT64_MAX, UINT64_MAX, true, 1},
	 {1, 1},
	 UINT64_MAX,
	 {0, 0},
	 0,
	 0},
};

static void test_examples(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(examples); i++) {
		const struct example *one = &examples[i];
		struct energy_part parts[] = {{one->cpu_ns[0], 77}, {one->cpu_ns[1], 77}};
		const struct energy_split split = energy_split(&one->interval, parts, 2);

		g_test_message("%s", one->what);
		g_assert_cmpuint(split.idle_uj, ==, one->idle_uj);
		g_assert_cmpuint(parts[0].uj, ==, one->task_uj[0]);
		g_assert_cmpuint(parts[1].uj, ==, one->task_uj[1]);
		g_assert_cmpuint(split.management_uj, ==, one->management_uj);
		g_assert_cmpuint(split.unattributed_uj, ==, one->unattributed_uj);
	}
}

/* Numbers of every size: shifts make small ones as likely as large ones. */
static uint64_t any_number(void)
{
	const uint64_t high = g_test_rand_int();

	return (high << 32 | (uint32_t)g_test_rand_int()) >> g_test_rand_int_range(0, 64);
}

/* Whether a part lies within one microjoule of its exact share. */
static void assert_fair(uint64_t uj, uint64_t dynamic_uj, uint64_t cpu_ns, unsigned __int128 total)
{
	const unsigned __int128 exact = (unsigned __int128)dynamic_uj * cpu_ns;

	g_assert_true((unsigned __int128)uj <= exact / total + 1);
	g_assert_true((unsigned __int128)uj >= exact / total);
}

static void check_any(void)
{
	struct energy_part parts[PARTS_MAX];
	const size_t count = (size_t)g_test_rand_int_range(0, PARTS_MAX + 1);
	const struct energy_interval interval = {
		any_number(),
		any_number(),
		any_number() >> 20,
		g_test_rand_int_range(0, 8) > 0,
		g_test_rand_bit() ? any_number() : 0,
	};
	unsigned __int128 total = interval.management_ns;
	unsigned __int128 sum;
	struct energy_split split;
	uint64_t dynamic_uj;

	for (size_t i = 0; i < count; i++) {
		parts[i] = (struct energy_part){g_test_rand_bit() ? any_number() : 0, 1};
		total += parts[i].cpu_ns;
	}
	split = energy_split(&interval, parts, count);
	sum = (unsigned __int128)split.idle_uj + split.management_uj + split.unattributed_uj;
	for (size_t i = 0; i < count; i++)
		sum += parts[i].uj;
	g_assert_true(sum == interval.meter_uj);
	g_assert_true(sum - split.tasks_uj == (unsigned __int128)split.idle_uj +
						      split.management_uj + split.unattributed_uj);
	dynamic_uj = interval.meter_uj - split.idle_uj;
	if (!interval.known || total == 0) {
		g_assert_cmpuint(split.unattributed_uj, ==, dynamic_uj);
		g_assert_cmpuint(split.tasks_uj + split.management_uj, ==, 0);
		return;
	}
	g_assert_cmpuint(split.unattributed_uj, ==, 0);
	assert_fair(split.management_uj, dynamic_uj, interval.management_ns, total);
	for (size_t i = 0; i < count; i++)
		assert_fair(parts[i].uj, dynamic_uj, parts[i].cpu_ns, total);
}

static void test_any(void)
{
	for (int i = 0; i < 100000; i++)
		check_any();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/energy-split/worked cases", test_examples);
	g_test_add_func("/energy-split/the parts are the whole, and fair, for any numbers",
			test_any);
	return g_test_run();
}
