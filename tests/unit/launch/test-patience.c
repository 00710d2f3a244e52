/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "local-sched/launch/patience.h"

static void test_first_task(void)
{
	g_assert_cmpfloat(patience_s(NULL, "cg", 'W', 0), ==, PATIENCE_MAX_S);
	g_assert_cmpfloat(patience_s(NULL, "cg", 'W', 0.2), ==, PATIENCE_MIN_S);
	g_assert_cmpfloat(patience_s(NULL, "cg", 'W', 7), ==, 70);
	g_assert_cmpfloat(patience_s(NULL, "cg", 'W', 50), ==, PATIENCE_MAX_S);
}

/*
 * With what it takes to kill the ranks and to look, a task that hangs is to cost two minutes at
 * most.
 */
static void test_bounds(void)
{
	g_assert_cmpfloat(PATIENCE_MAX_S, <=, 100);
	g_assert_cmpfloat(PATIENCE_MIN_S, >=, 10 * PATIENCE_REPORT_MS * 1e-3);
}

static void test_learns(void)
{
	g_autoptr(patience_t) patience = patience_new();

	g_assert_cmpfloat(patience_s(patience, "cg", 'W', 0), ==, PATIENCE_MAX_S);
	patience_learn(patience, "cg", 'W', 8);
	g_assert_cmpfloat(patience_s(patience, "cg", 'W', 0), ==, 80);
	g_assert_cmpfloat(patience_s(patience, "cg", 'W', 9), ==, 90);
	patience_learn(patience, "cg", 'W', 1); /* the longest one counts */
	g_assert_cmpfloat(patience_s(patience, "cg", 'W', 0), ==, 80);
	g_assert_cmpfloat(patience_s(patience, "cg", 'A', 0), ==, PATIENCE_MAX_S);
	g_assert_cmpfloat(patience_s(patience, "is", 'W', 0), ==, PATIENCE_MAX_S);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/patience/of-a-first-task", test_first_task);
	g_test_add_func("/patience/is-bounded", test_bounds);
	g_test_add_func("/patience/learns-by-benchmark-and-class", test_learns);
	return g_test_run();
}
