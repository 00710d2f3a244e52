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
		const struct job_order *order;
		double key;
	} cases[] = {
		{&job_order_sjf, 1000},
		{&job_order_spf, 1000},
		{&job_order_sqf, 8},
		{&job_order_saf, 8000},
		{&job_order_wfp3, -0.001 * 8},
		{&job_order_unicef, -100.0 / (3 * 1000)},
		{&job_order_f1, 3 * 8 + 870},
		{&job_order_f2, 31.6227766016838 * 8 + 25600},
		{&job_order_f3, 8000 + 6860000},
		{&job_order_f4, 1000 * 2.82842712474619 + 530000},
	};
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct job_order *order = cases[i].order;
		struct job_order_facts later = job;

		g_assert_cmpfloat_with_epsilon(order->key(&job), cases[i].key,
					       1e-12 * fabs(cases[i].key));
		later.waited_s += 50;
		g_assert_true(order->waits == (order->key(&later) != order->key(&job)));
	}
}

/* A job of one processor, and one of the first instant, have keys that can be compared. */
static void test_edges(void)
{
	const struct job_order *unicef = &job_order_unicef;
	const struct job_order_facts serial = {.waited_s = 1, .requested_s = 10, .processors = 1};
	const struct job_order_facts shorter = {.waited_s = 1, .requested_s = 5, .processors = 1};
	const struct job_order_facts wide = {.waited_s = 1e6, .requested_s = 1, .processors = 2};

	g_assert_cmpfloat(unicef->key(&shorter), <, unicef->key(&serial));
	g_assert_cmpfloat(unicef->key(&serial), <, unicef->key(&wide));
	g_assert_true(isfinite(unicef->key(&serial)));
	/* log10 of nothing is that of 0.1 s. */
	g_assert_cmpfloat(job_order_f1.key(&serial), ==, 1 - 870);
}

/* UNICEF prefers a serial job when it has waited, and not at the instant of its submission. */
static void test_serial_not_waited(void)
{
	const struct job_order *unicef = &job_order_unicef;
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
	static const struct job_order *const orders[] = {&job_order_f1, &job_order_f2,
							 &job_order_f3, &job_order_f4};
	struct job_order_facts job = {.requested_s = 10, .processors = 4, .submitted_s = 0.1};

	for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
		const double key = orders[i]->key(&job);

		for (job.submitted_s = 0; job.submitted_s < 0.1; job.submitted_s += 0.01)
			g_assert_cmpfloat(orders[i]->key(&job), ==, key);
		job.submitted_s = 0.2;
		g_assert_cmpfloat(orders[i]->key(&job), >, key);
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
