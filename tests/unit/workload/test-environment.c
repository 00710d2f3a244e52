/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller/config/config_controller.h"
#include "controller/config/config_environment.h"
#include "controller/experiment/experiment.h"
#include "controller/workload/environment_types.h"
#include "controller/workload/variates.h"

/* The paper's environment on fewer tasks, as a test has less time. */
static struct config *load(const char *name)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "configs",
						      "papers", name, NULL);
	g_autoptr(GError) error = NULL;
	struct config *config = config_controller_load(path, &error);

	g_assert_no_error(error);
	return config;
}

static struct environment_trial *draw(const struct config *config, uint64_t seed, uint32_t number)
{
	g_autoptr(GError) error = NULL;
	struct environment_trial *trial = environment_trial_new(config, NULL, seed, number, &error);

	g_assert_no_error(error);
	return trial;
}

static void test_equal(void)
{
	g_autoptr(config_t) config = load("energy-5000.yaml");
	g_autoptr(environment_trial_t) a = draw(config, 0, 2);
	g_autoptr(environment_trial_t) b = draw(config, config_environment(config)->seed, 2);
	g_autoptr(environment_trial_t) other = draw(config, 0, 3);
	const uint32_t count = a->workload->tasks_count;

	g_assert_cmpuint(count, ==, b->workload->tasks_count);
	for (uint32_t i = 0; i < count; i++) {
		g_assert_cmpfloat(a->workload->tasks[i].arrival_s, ==,
				  b->workload->tasks[i].arrival_s);
		g_assert_cmpuint(a->workload->tasks[i].row, ==, b->workload->tasks[i].row);
	}
	g_assert_cmpuint(a->system->rows_count, ==, b->system->rows_count);
	g_assert_cmpfloat(a->utility_max, ==, b->utility_max);
	g_assert_cmpfloat(a->utility_max, !=, other->utility_max);
}

/* 5,000 tasks per day for 28 h, within five standard deviations. */
static void test_count(void)
{
	g_autoptr(config_t) config = load("energy-5000.yaml");
	const double expected = 5000.0 * 28 / 24;

	for (uint32_t i = 1; i <= 3; i++) {
		g_autoptr(environment_trial_t) trial = draw(config, 7, i);

		g_assert_cmpfloat(fabs(trial->workload->tasks_count - expected), <,
				  5 * sqrt(expected));
	}
}

/* Types keep to their clusters, and every P-state has its estimates. */
static void test_places(void)
{
	g_autoptr(config_t) config = load("energy-5000-p15.yaml");
	g_autoptr(environment_trial_t) trial = draw(config, 0, 1);
	const struct sched_system *system = trial->system;

	g_assert_cmpuint(system->clusters_count, ==, 6);
	g_assert_cmpuint(system->columns_count, ==, 6 * 15);
	g_assert_cmpuint(system->groups_count, ==, 3);
	for (uint32_t row = 0; row < system->rows_count; row++) {
		uint32_t count;
		uint32_t type;
		uint32_t cores;
		const struct sched_option *options = sched_system_options(system, row, &count);

		g_assert_cmpint(sscanf(system->row_names[row], "t%u.%u", &type, &cores), ==, 2);
		g_assert_cmpuint(count % 15, ==, 0);
		for (uint32_t i = 0; i < count; i++) {
			const uint32_t cluster = options[i].cluster;

			g_assert_cmpuint(cluster < 4 ? 0 : cluster - 3, ==,
					 type < 60   ? 0
					 : type < 80 ? 1
						     : 2);
			g_assert_cmpuint(options[i].nodes, ==,
					 (cores + system->clusters[cluster].cores - 1) /
						 system->clusters[cluster].cores);
		}
	}
}

/* Equation (10) over T(1): 1 for one node, then falling, then flat. */
static void test_downey(void)
{
	g_assert_cmpfloat(environment_downey(1, 1, 5), ==, 1);
	g_assert_cmpfloat(environment_downey(1, 10, 5), ==, 1);
	/* A + A sigma - sigma = 55; T(1) = 60; T(10) = 10.5; beyond 55 nodes 6. */
	g_assert_cmpfloat_with_epsilon(environment_downey(10, 10, 5), 10.5 / 60, 1e-12);
	g_assert_cmpfloat_with_epsilon(environment_downey(55, 10, 5), 0.1, 1e-12);
	g_assert_cmpfloat_with_epsilon(environment_downey(500, 10, 5), 0.1, 1e-12);
}

/* Every class with every urgency makes a good utility function that begins at its priority. */
static void test_classes(void)
{
	struct environment_class classes[ENVIRONMENT_CLASSES];
	struct environment_type type = {.priority = 5, .mean_s = 600};

	environment_classes_draw(1, classes);
	for (uint32_t i = 0; i < ENVIRONMENT_CLASSES; i++) {
		struct utility utility;

		type.urgency = i % 2 ? 0.6 : 0.01;
		utility = environment_utility(&type, type.mean_s, &classes[i]);
		g_assert_cmpint(utility_check(&utility, NULL), ==, UTILITY_FAULT_NONE);
		g_assert_cmpfloat(utility_value(&utility, 0), ==, 5);
		g_assert_cmpuint(utility.segments_count, <=, 4);
	}
}

/* The classes of seed 1 as the shipped file has them. */
static char *classes_text(void)
{
	struct environment_class classes[ENVIRONMENT_CLASSES];
	GString *text = g_string_new(
		"# The 20 utility classes of classes_seed 1: a row per segment. Durations are in mean\n"
		"# execution times of the task's type; the decay rate is its urgency x modifier.\n"
		"class,segment,curve,duration,start_fraction,end_fraction,modifier\n");

	environment_classes_draw(1, classes);
	for (uint32_t i = 0; i < ENVIRONMENT_CLASSES; i++)
		for (uint32_t j = 0; j < classes[i].segments_count; j++)
			g_string_append_printf(text, "%u,%u,%s,%.6f,%.6f,%.6f,%.6f\n", i + 1, j + 1,
					       classes[i].segments[j].modifier > 0 ? "exponential"
										   : "constant",
					       classes[i].segments[j].duration,
					       classes[i].segments[j].start_fraction,
					       classes[i].segments[j].end_fraction,
					       classes[i].segments[j].modifier);
	return g_string_free(text, FALSE);
}

/* VIRTBED_REWRITE_GOLDEN=1 rewrites the file, for review. */
static void test_shipped_classes(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "..", "..", "..", "configs",
						      "papers", "utility-classes.csv", NULL);
	g_autofree char *expected = classes_text();
	g_autofree char *shipped = NULL;
	g_autoptr(GError) error = NULL;

	if (g_getenv("VIRTBED_REWRITE_GOLDEN"))
		g_file_set_contents(path, expected, -1, &error);
	g_assert_no_error(error);
	g_file_get_contents(path, &shipped, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpstr(shipped, ==, expected);
}

/* The COV method: mean and coefficient of variation of many gamma variates. */
static void test_gamma(void)
{
	struct variates *variates = variates_new(1, 2);
	const uint32_t count = 200000;
	double sum = 0;
	double squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		const double value = variates_gamma(variates, 133, 0.2);

		g_assert_cmpfloat(value, >, 0);
		sum += value;
		squares += value * value;
	}
	g_assert_cmpfloat_with_epsilon(sum / count, 133, 0.5);
	g_assert_cmpfloat_with_epsilon(sqrt(squares / count - pow(sum / count, 2)) / 133, 0.2,
				       0.003);
	variates_free(variates);
}

/* A day with the gate: never above the budget, and the percentage is one. */
static void test_day(const void *data)
{
	g_autoptr(config_t) config = load("energy-5000.yaml");
	g_autoptr(GError) error = NULL;
	const char *const names[] = {data, NULL};

	config_environment(config)->tasks_per_day = 1000;

	g_autoptr(experiment_t) experiment = experiment_new(config, names, &error);
	struct experiment_trial trial;
	struct engine_result whole;
	struct engine_result trimmed;

	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));

	struct engine_setup setup =
		experiment_trial_setup(experiment, &trial, &experiment->policies[0], 1e9);

	experiment_simulate(&setup, &whole);
	setup.trim = true;
	experiment_simulate(&setup, &trimmed);
	g_assert_cmpfloat(whole.utility, ==, trimmed.utility);
	g_assert_cmpfloat(whole.energy_j, ==, trimmed.energy_j);
	g_assert_cmpuint(whole.tasks_completed, ==, trimmed.tasks_completed);
	g_assert_cmpfloat(whole.energy_j, <=, 1e9 * (1 + 1e-9));
	g_assert_cmpfloat(whole.energy_j, >, 0);
	g_assert_cmpfloat(whole.utility, >, 0);
	g_assert_cmpfloat(whole.utility, <, trial.utility_max);
	experiment_trial_clear(&trial);
}

int main(int argc, char **argv)
{
	static const char *const days[] = {
		"max-upe+drop:0.5",    "max-upr+filter:resource:4.0+drop:0.5",
		"task-based+drop:0.5", "event-based+filter:task:2.0",
		"easy+drop:0.5",
	};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/environment/equal seeds draw equal trials", test_equal);
	g_test_add_func("/environment/as many tasks arrive as asked for", test_count);
	g_test_add_func("/environment/types keep to their clusters", test_places);
	g_test_add_func("/environment/parallel times follow Downey", test_downey);
	g_test_add_func("/environment/classes make good utility functions", test_classes);
	g_test_add_func("/environment/the shipped classes are those of seed 1",
			test_shipped_classes);
	g_test_add_func("/environment/gamma variates have their mean and variation", test_gamma);
	for (size_t i = 0; i < G_N_ELEMENTS(days); i++) {
		g_autofree char *path =
			g_strdup_printf("/environment/a day of %s keeps to its budget", days[i]);

		g_test_add_data_func(path, days[i], test_day);
	}
	return g_test_run();
}
