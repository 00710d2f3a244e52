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

/* UNICEF prefers a serial job when it has waited, and not at the instant of its submission. */
static void test_serial_not_waited(void)
{
	const struct job_order *unicef = &job_orders[JOB_ORDER_UNICEF];
	const struct job_order_facts wide = {.waited_s = 99, .requested_s = 10, .processors = 2};
	struct job_order_facts serial = {.requested_s = 10, .processors = 1};

	g_assert_cmpfloat_with_epsilon(unicef->key(&serial), -0.062, 0.001);
	g_assert_cmpfloat(unicef->key(&serial), >, unicef->key(&wide));
	serial.waited_s = 0.001;
	g_assert_cmpfloat(unicef->key(&serial), <, unicef->key(&wide));
}

/* Jobs of the first 0.1 s have equal keys. */
static void test_first_instant(void)
{
	struct job_order_facts job = {.requested_s = 10, .processors = 4, .submitted_s = 0.1};

	for (uint32_t i = JOB_ORDER_F1; i <= JOB_ORDER_F4; i++) {
		const double key = job_orders[i].key(&job);

		for (job.submitted_s = 0; job.submitted_s < 0.1; job.submitted_s += 0.01)
			g_assert_cmpfloat(job_orders[i].key(&job), ==, key);
		job.submitted_s = 0.2;
		g_assert_cmpfloat(job_orders[i].key(&job), >, key);
		job.submitted_s = 0.1;
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/job-order/keys are those of the papers", test_formulas);
	g_test_add_func("/job-order/one processor and no time have keys", test_edges);
	g_test_add_func("/job-order/a serial job has waited before it goes first",
			test_serial_not_waited);
	g_test_add_func("/job-order/jobs of the first 0.1 s are equal", test_first_instant);
	return g_test_run();
}
