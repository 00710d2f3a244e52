/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "common/clock.h"
#include "common/loop.h"

#define NEVER_NS INT64_MAX
#define OFTEN_MS 5

static bool is_set(void *data)
{
	return *(const bool *)data;
}

static gboolean set(gpointer data)
{
	*(bool *)data = true;
	return G_SOURCE_REMOVE;
}

static gboolean count(gpointer data)
{
	++*(int *)data;
	return G_SOURCE_CONTINUE;
}

static void test_true_at_once(void)
{
	bool flag = true;
	int turns = 0;
	guint source = g_idle_add(count, &turns);

	g_assert_true(loop_until(&platform_machine, is_set, &flag, NEVER_NS, OFTEN_MS));
	g_assert_cmpint(turns, ==, 0);
	g_source_remove(source);
}

static void test_becomes_true(void)
{
	bool flag = false;
	int turns = 0;
	guint source;

	g_idle_add_full(G_PRIORITY_DEFAULT, set, &flag, NULL);
	source = g_idle_add_full(G_PRIORITY_DEFAULT + 1, count, &turns, NULL);
	g_assert_true(loop_until(&platform_machine, is_set, &flag, NEVER_NS, OFTEN_MS));
	g_assert_cmpint(turns, ==, 0); /* it is not dispatched once the condition holds */
	g_source_remove(source);
}

static void test_time_is_over(void)
{
	const int64_t end_ns = clock_now_ns() + 20000000;
	bool flag = false;

	g_assert_false(loop_until(&platform_machine, is_set, &flag, end_ns, 1000));
	g_assert_cmpint(clock_now_ns(), >=, end_ns);
	g_assert_false(loop_until(&platform_machine, is_set, &flag, end_ns, OFTEN_MS));
}

/* Both conditions of nested calls; the outer one becomes true first. */
struct nested {
	bool outer, inner;
	int turns;
};

static gboolean set_inner(gpointer data)
{
	struct nested *nested = data;

	nested->inner = ++nested->turns == 3;
	return nested->inner ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

static gboolean run_inner(gpointer data)
{
	struct nested *nested = data;

	nested->outer = true;
	g_idle_add(set_inner, nested);
	g_assert_true(loop_until(&platform_machine, is_set, &nested->inner, NEVER_NS, OFTEN_MS));
	return G_SOURCE_REMOVE;
}

static void test_nested(void)
{
	struct nested nested = {0};

	g_idle_add(run_inner, &nested);
	g_assert_true(loop_until(&platform_machine, is_set, &nested.outer, NEVER_NS, OFTEN_MS));
	g_assert_cmpint(nested.turns, ==, 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/loop/nothing-is-dispatched-if-it-is-true", test_true_at_once);
	g_test_add_func("/loop/ends-when-it-becomes-true", test_becomes_true);
	g_test_add_func("/loop/ends-when-the-time-is-over", test_time_is_over);
	g_test_add_func("/loop/an-inner-loop-goes-on-when-the-outer-one-is-over", test_nested);
	return g_test_run();
}
