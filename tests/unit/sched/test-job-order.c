/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>

#include "controller/sched/job_order.h"

/*
 * The keys of two jobs, worked out by hand: 100 s waited, 1000 s asked for, 8 processors, at 10 s.
 */
static void test_formulas(void)
{
	static const struct job_order_facts job = {100, 1000, 8, 10};
	static const struct {
		const char *name;
		double key;
	} cases[] = {
		{"fcfs", 10},
		{"sjf", 1000},
		{"spf", 1000},
		{"sqf", 8},
		{"saf", 8000},
		{"wfp3", -0.001 * 8},
		{"unicef", -100.0 / (3 * 1000)},
		{"f1", 3 * 8 + 870},
		{"f2", 31.6227766016838 * 8 + 25600},
		{"f3", 8000 + 6860000},
		{"f4", 1000 * 2.82842712474619 + 530000},
	};
	G_STATIC_ASSERT(G_N_ELEMENTS(cases) == JOB_ORDERS_COUNT);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct job_order *order = &job_orders[i];
		struct job_order_facts later = job;

		g_assert_cmpstr(order->name, ==, cases[i].name);
		g_assert_cmpfloat_with_epsilon(order->key(&job), cases[i].key,
					       1e-12 * fabs(cases[i].key));
		later.waited_s += 50;
		g_assert_true(order->waits == (order->key(&later) != order->key(&job)));
	}
}

/* A job of one processor, and one of the first instant, have keys that can be compared. */
static void test_edges(void)
{
	const struct job_order *unicef = &job_orders[JOB_ORDER_UNICEF];
	const struct job_order_facts serial = {.waited_s = 1, .requested_s = 10, .processors = 1};
	const struct job_order_facts shorter = {.waited_s = 1, .requested_s = 5, .processors = 1};
	const struct job_order_facts wide = {.waited_s = 1e6, .requested_s = 1, .processors = 2};

	g_assert_cmpfloat(unicef->key(&shorter), <, unicef->key(&serial));
	g_assert_cmpfloat(unicef->key(&serial), <, unicef->key(&wide));
	for (uint32_t i = 0; i < JOB_ORDERS_COUNT; i++)
		g_assert_true(isfinite(job_orders[i].key(&serial)));
	/* log10 of nothing is that of 0.1 s. */
	g_assert_cmpfloat(job_orders[JOB_ORDER_F1].key(&serial), ==, 1 - 870);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/job-order/keys are those of the papers", test_formulas);
	g_test_add_func("/job-order/one processor and no time have keys", test_edges);
	return g_test_run();
}
