/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/energy_account.h"
#include "tests/unit/cli/document.h"

#define HOSTS                                                                                      \
	"\"hosts\": [{\"host\": \"b1\", \"idle_w\": 50.04, \"management_of_vms_alone\": true,"     \
	" \"tasks_uj\": 9000000000000001, \"idle_uj\": 2, \"management_uj\": 3,"                   \
	" \"unattributed_uj\": 4, \"unserved_uj\": 1, \"counted_uj\": 9000000000000010}]"

static const char by_user[] =
	"{\"by\": \"user\", \"sums\": [{\"user\": \"ann\", \"tasks\": 2, \"tasks_uj\": 9000000000000000},"
	" {\"user\": \"-\", \"tasks\": 1, \"tasks_uj\": 1}], " HOSTS "}";

static void test_by_user(void)
{
	g_autoptr(json_t) all = document(by_user);
	g_autoptr(table_t) table = energy_account_table(all);
	g_autofree char *text = table_format(table, 0);
	g_autofree char *notes = energy_account_notes(all);
	g_autofree char *verdict = NULL;

	g_assert_cmpstr(text, ==,
			"USER          TASKS           ENERGY J\n"
			"------------  -----  -----------------\n"
			"ann               2  9000000000.000000\n"
			"-                 1           0.000001\n"
			"------------  -----  -----------------\n"
			"tasks                9000000000.000001\n"
			"idle                          0.000002\n"
			"management                    0.000003\n"
			"unattributed                  0.000004\n"
			"all meters           9000000000.000010\n");
	g_assert_true(energy_account_check(all, &verdict));
	g_assert_cmpstr(verdict, ==, "the sums equal the meters: 9000000000.000010 J on 1 host");
	g_assert_true(g_str_has_prefix(notes, "idle: b1 50.0 W\nmanagement: of VMs"));
	g_assert_true(g_str_has_suffix(
		notes, "\nunattributed: 0.000001 J of it were used while no service ran\n"));
}

static void test_by_day(void)
{
	g_autoptr(json_t) all = document(
		"{\"by\": \"day\", \"sums\": [{\"day\": \"2026-01-31\", \"tasks\": 3,"
		" \"tasks_uj\": 9000000000000001, \"idle_uj\": 2, \"management_uj\": 3,"
		" \"unattributed_uj\": 4, \"unserved_uj\": 1, \"meter_uj\": 9000000000000010}], " HOSTS
		"}");
	g_autoptr(table_t) table = energy_account_table(all);
	g_autofree char *text = table_format(table, 0);
	g_autofree char *verdict = NULL;

	g_assert_nonnull(strstr(text, "2026-01-31      3  9000000000.000001  0.000002      0.000003"
				      "        0.000004  9000000000.000010\n"));
	g_assert_true(energy_account_check(all, &verdict));
}

/* A microjoule too much, or too little, is told with its place. */
static void test_differences(void)
{
	static const struct {
		const char *host; /* "b1" or NULL: the sums */
		const char *key;
		json_int_t uj;
		const char *words;
	} cases[] = {
		{"b1", "idle_uj", 3,
		 "host b1: the parts are 9000000000.000011 J, the whole is "
		 "9000000000.000010 J: -0.000001 J differ"},
		{"b1", "counted_uj", 9000000000000011,
		 "host b1: the parts are 9000000000.000010 J, "
		 "the whole is 9000000000.000011 J: 0.000001 J differ"},
		{NULL, "tasks_uj", 9000000000000001,
		 "the sums over tasks: the parts are "
		 "9000000000.000002 J"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(json_t) all = document(by_user);
		g_autofree char *verdict = NULL;

		json_object_set_new(
			json_array_get(json_object_get(all, cases[i].host ? "hosts" : "sums"), 0),
			cases[i].key, json_integer(cases[i].uj));
		g_assert_false(energy_account_check(all, &verdict));
		g_assert_nonnull(strstr(verdict, cases[i].words));
	}
}

/* Watts that no meter told are no meter's, and those of a simulated cluster no model's. */
static void test_watts(void)
{
	g_autoptr(json_t) simulated = document(
		"{\"hosts\": [{\"host\": \"s1\", \"idle_w\": 60, \"watts_from\": \"simulation\"}]}");
	g_autoptr(json_t) several = document(
		"{\"hosts\": [{\"host\": \"b1\", \"idle_w\": 50, \"watts_from\": \"model\"},"
		" {\"host\": \"s1\", \"idle_w\": 60, \"watts_from\": \"simulation\"},"
		" {\"host\": \"b2\", \"idle_w\": 50, \"watts_from\": \"meter\"}]}");
	g_autofree char *one = energy_account_notes(simulated);
	g_autofree char *all = energy_account_notes(several);

	g_assert_cmpstr(
		one, ==,
		"watts: simulated, by the estimates of what runs above a constant idle; nothing was metered\n"
		"idle: s1 60.0 W\n");
	g_assert_cmpstr(
		all, ==,
		"watts of b1: by a model fed by CPU time, not by a meter\n"
		"watts of s1: simulated, by the estimates of what runs above a constant idle; nothing was metered\n"
		"idle: b1 50.0 W, s1 60.0 W, b2 50.0 W\n");
}

/* Before the first interval: nothing equals nothing. */
static void test_nothing(void)
{
	g_autoptr(json_t) all = document("{\"by\": \"day\", \"sums\": [], \"hosts\": []}");
	g_autoptr(table_t) table = energy_account_table(all);
	g_autofree char *notes = energy_account_notes(all);
	g_autofree char *verdict = NULL;

	g_assert_null(notes);
	g_assert_true(energy_account_check(all, &verdict));
	g_assert_cmpstr(verdict, ==, "the sums equal the meters: 0.000000 J on 0 hosts");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/energy-account/by user, to the microjoule", test_by_user);
	g_test_add_func("/energy-account/by day, with all parts", test_by_day);
	g_test_add_func("/energy-account/what does not add up is told with its place",
			test_differences);
	g_test_add_func("/energy-account/watts that no meter told are said to be so", test_watts);
	g_test_add_func("/energy-account/nothing is well", test_nothing);
	return g_test_run();
}
