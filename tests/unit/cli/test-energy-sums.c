/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "controller/cli/energy_sums.h"
#include "tests/unit/cli/document.h"

static const char tasks_text[] =
	"[{\"task\": 0, \"user\": \"ann\", \"energy_j\": 10.5, \"utility\": 1.0},"
	" {\"task\": 1, \"user\": \"bob\", \"energy_j\": 20.0, \"utility\": 0.5},"
	" {\"task\": 2, \"user\": \"ann\", \"energy_j\": null, \"utility\": null},"
	" {\"task\": 3, \"user\": null, \"energy_j\": 1.0, \"utility\": 0.0},"
	" {\"task\": 4, \"user\": \"ann\", \"energy_j\": 2.0, \"utility\": 1.0}]";

static void test_by_user(void)
{
	g_autoptr(json_t) tasks = document(tasks_text);
	g_autoptr(json_t) power = document("{\"energy_j\": 40.0, \"limit_j\": null}");
	g_autoptr(json_t) sums = energy_sums(tasks, "user");
	g_autoptr(json_t) all = energy_sums_document("user", sums, power);
	g_autoptr(table_t) table = energy_sums_table(all);
	g_autofree char *text = table_format(table, 0);

	g_assert_cmpstr(text, ==,
			"USER                    TASKS  METERED  ENERGY J  UTILITY\n"
			"----------------------  -----  -------  --------  -------\n"
			"bob                         1        1      20.0    0.500\n"
			"ann                         3        2      12.5    2.000\n"
			"-                           1        1       1.0    0.000\n"
			"----------------------  -----  -------  --------  -------\n"
			"attributed                                  33.5\n"
			"rest                                         6.5\n"
			"dynamic, by the meters                      40.0\n");
}

static void test_by_task(void)
{
	g_autoptr(json_t) tasks = document(tasks_text);
	g_autoptr(json_t) sums = energy_sums(tasks, "task");

	g_assert_cmpuint(json_array_size(sums), ==, 5);
	g_assert_cmpstr(json_string_value(json_object_get(json_array_get(sums, 0), "task")), ==,
			"1");
}

/* No meter: no rest either. */
static void test_unmetered(void)
{
	g_autoptr(json_t) tasks = document("[]");
	g_autoptr(json_t) power = document("{\"energy_j\": null, \"limit_j\": 100.0}");
	g_autoptr(json_t) sums = energy_sums(tasks, "type");
	g_autoptr(json_t) all = energy_sums_document("type", sums, power);

	g_assert_true(json_is_null(json_object_get(all, "energy_j")));
	g_assert_true(json_is_null(json_object_get(all, "rest_j")));
	g_assert_cmpfloat(json_number_value(json_object_get(all, "limit_j")), ==, 100);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/energy-sums/by-user", test_by_user);
	g_test_add_func("/energy-sums/by-task", test_by_task);
	g_test_add_func("/energy-sums/unmetered", test_unmetered);
	return g_test_run();
}
