/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many runs at once: reproducible, and what an independent simulation of the testbed showed. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/experiment/trials.h"
#include "tests/unit/workload/testbed.h"

#define TRIALS 200
#define POLICIES 4
#define LIMITS 3

static const double limits_j[] = {2.8e6, 0.85 * 2.8e6, 0.7 * 2.8e6};

static struct engine_result *run(const struct experiment *experiment, uint32_t trials,
				 uint32_t jobs)
{
	const struct trials setup = {
		.experiment = experiment,
		.trials = trials,
		.jobs = jobs,
		.limits_j = limits_j,
		.limits_count = LIMITS,
	};
	g_autoptr(GError) error = NULL;
	struct engine_result *results = trials_run(&setup, &error);

	g_assert_no_error(error);
	return results;
}

static const struct engine_result *at(const struct engine_result *results, uint32_t trial,
				      uint32_t policy, uint32_t limit)
{
	return &results[(trial * POLICIES + policy) * LIMITS + limit];
}

static void assert_same(const struct engine_result *a, const struct engine_result *b)
{
	g_assert_cmpint(a->ended_by, ==, b->ended_by);
	g_assert_cmpfloat(a->utility, ==, b->utility);
	g_assert_cmpuint(a->tasks_arrived, ==, b->tasks_arrived);
	g_assert_cmpuint(a->tasks_completed, ==, b->tasks_completed);
	g_assert_cmpuint(a->tasks_dropped, ==, b->tasks_dropped);
	/* Sums over other intervals differ in their last digits. */
	g_assert_cmpfloat_with_epsilon(a->ended_s, b->ended_s, 1e-6);
	g_assert_cmpfloat_with_epsilon(a->energy_j, b->energy_j, 1e-3);
}

static void test_jobs(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, NULL, NULL);
	const size_t size = 20 * POLICIES * LIMITS * sizeof(struct engine_result);
	g_autofree struct engine_result *one = run(experiment, 20, 1);
	g_autofree struct engine_result *three = run(experiment, 20, 3);

	for (size_t i = 0; i < size / sizeof(*one); i++) {
		assert_same(&one[i], &three[i]);
		g_assert_true(one[i].energy_j == three[i].energy_j &&
			      one[i].ended_s == three[i].ended_s);
	}
	experiment_free(experiment);
	testbed_config_free(config);
}

/*
 * What the trials leave out for speed changes nothing: every run on its own, with all
 * place-holders.
 */
static void test_shortcuts(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, NULL, NULL);
	g_autofree struct engine_result *results = run(experiment, 30, 2);

	for (uint32_t trial = 0; trial < 30; trial++) {
		g_autoptr(workload_t) workload =
			workload_testbed_new(config, experiment->system, 0, trial + 1, NULL);

		for (uint32_t i = 0; i < POLICIES * LIMITS; i++) {
			const struct engine_setup setup =
				experiment_setup(experiment, workload,
						 &experiment->policies[i / LIMITS],
						 limits_j[i % LIMITS]);
			struct engine_result result;

			experiment_simulate(&setup, &result);
			assert_same(&result, at(results, trial, i / LIMITS, i % LIMITS));
		}
	}
	experiment_free(experiment);
	testbed_config_free(config);
}

/* A figure that an independent simulation of 200 other workloads gave, with its 95 % interval. */
struct figure {
	uint32_t policy;
	uint32_t limit;
	bool energy; /* of energy, otherwise of utility, over that of max-upr */
	double ratio;
	double interval;
};

static const struct figure figures[] = {
	{0, 0, false, 0.792, 0.014}, {2, 0, false, 0.984, 0.005}, {3, 0, false, 1.014, 0.004},
	{0, 1, false, 0.755, 0.010}, {2, 1, false, 1.050, 0.008}, {3, 1, false, 1.058, 0.007},
	{0, 2, false, 0.757, 0.011}, {2, 2, false, 1.100, 0.008}, {3, 2, false, 1.094, 0.007},
	{2, 0, true, 0.896, 0.007},  {2, 1, true, 0.953, 0.009},  {2, 2, true, 0.997, 0.002},
};

static double ratio(const struct engine_result *results, uint32_t trial,
		    const struct figure *figure)
{
	const struct engine_result *a = at(results, trial, figure->policy, figure->limit);
	const struct engine_result *b = at(results, trial, 1, figure->limit);

	return figure->energy ? a->energy_j / b->energy_j : a->utility / b->utility;
}

/* Within both intervals and half a percent for the details of the random streams. */
static void test_figures(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, NULL, NULL);
	g_autofree struct engine_result *results = run(experiment, TRIALS, 2);

	for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
		double sum = 0;
		double squares = 0;

		for (uint32_t trial = 0; trial < TRIALS; trial++)
			sum += ratio(results, trial, &figures[i]);
		for (uint32_t trial = 0; trial < TRIALS; trial++)
			squares += pow(ratio(results, trial, &figures[i]) - sum / TRIALS, 2);

		const double interval = 1.97 * sqrt(squares / (TRIALS - 1) / TRIALS);

		g_test_message("policy %u, limit %u: %.3f +- %.3f, expected %.3f +- %.3f",
			       figures[i].policy, figures[i].limit, sum / TRIALS, interval,
			       figures[i].ratio, figures[i].interval);
		g_assert_cmpfloat_with_epsilon(sum / TRIALS, figures[i].ratio,
					       figures[i].interval + interval +
						       0.005 * figures[i].ratio);
	}
	experiment_free(experiment);
	testbed_config_free(config);
}

static void test_budget(void)
{
	struct config *config = testbed_config_new();
	struct experiment *experiment = experiment_new(config, NULL, NULL);
	g_autoptr(GError) error = NULL;
	double energy_j;

	g_assert_cmpfloat(experiment_budget_j(experiment, 0, &error), ==, 2.8e6);
	config->experiment->budget_j = 0;
	energy_j = experiment_budget_j(experiment, 0, &error);
	g_assert_no_error(error);
	/* 2.685 MJ on average, with a standard deviation of about 0.25 MJ. */
	g_assert_cmpfloat(energy_j, >, 1.7e6);
	g_assert_cmpfloat(energy_j, <, 3.7e6);
	g_assert_cmpfloat(experiment_budget_j(experiment, 5, &error), !=, energy_j);
	for (uint32_t i = 0; i < config->estimates_count; i++)
		config->estimates[i].eec_j = 0;
	experiment_free(experiment);
	experiment = experiment_new(config, NULL, NULL);
	g_assert_cmpfloat(experiment_budget_j(experiment, 0, &error), ==, 0);
	g_assert_error(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_BUDGET);
	experiment_free(experiment);
	testbed_config_free(config);
}

static void test_unknown_policy(void)
{
	static const char *const names[] = {"easy", "max-upz", NULL};
	struct config *config = testbed_config_new();
	g_autoptr(GError) error = NULL;

	g_assert_null(experiment_new(config, names, &error));
	g_assert_error(error, EXPERIMENT_ERROR, EXPERIMENT_ERROR_POLICY);
	g_assert_nonnull(strstr(error->message, "max-upz"));
	testbed_config_free(config);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trials/results do not depend on the number of threads", test_jobs);
	g_test_add_func("/trials/shortcuts change nothing", test_shortcuts);
	g_test_add_func("/trials/the testbed gives the figures of an independent simulation",
			test_figures);
	g_test_add_func("/experiment/the budget is given or simulated", test_budget);
	g_test_add_func("/experiment/an unknown policy is refused", test_unknown_policy);
	return g_test_run();
}
