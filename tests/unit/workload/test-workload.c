/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/workload/workload.h"
#include "tests/unit/workload/testbed.h"

static void test_system(void)
{
	struct config *config = testbed_config_new();
	g_autoptr(GError) error = NULL;
	struct sched_system *system = workload_system_new(config, &error);
	uint32_t count;

	g_assert_no_error(error);
	g_assert_cmpuint(system->clusters_count, ==, 4);
	g_assert_cmpuint(system->rows_count, ==, 4);
	/* MG.8 is n.a. on clusters 3 and 4 (Table 5). */
	sched_system_options(system, 1, &count);
	g_assert_cmpuint(count, ==, 2);
	g_assert_null(sched_system_option(system, 1, 2, 0));
	g_assert_cmpuint(sched_system_option(system, 2, 3, 0)->nodes, ==, 2);
	g_assert_cmpfloat(sched_system_option(system, 0, 2, 0)->resources, ==, 552 * 8);
	g_assert_cmpfloat(system->etc_min_s[3], ==, 700);
	sched_system_free(system);
	testbed_config_free(config);
}

static void test_hole(void)
{
	struct config *config = testbed_config_new();
	g_autoptr(GError) error = NULL;

	config->estimates_count--;
	g_assert_null(workload_system_new(config, &error));
	g_assert_error(error, WORKLOAD_ERROR, WORKLOAD_ERROR_SYSTEM);
	g_assert_nonnull(strstr(error->message, "none for type \"IS_CG.8\" on cluster \"c4\""));
	testbed_config_free(config);
}

/* On a pair that could not be measured the type cannot run; a type that arrives needs another. */
static void test_known_hole(void)
{
	struct config *config = testbed_config_new();
	const struct config_estimate *last = &config->estimates[config->estimates_count - 1];
	struct config_unmeasured hole = {last->type, last->cluster, (char *)"it hangs"};
	struct sched_system *system;
	g_autoptr(GError) error = NULL;
	g_autoptr(workload_t) workload = NULL;
	uint32_t before;
	uint32_t count;

	system = workload_system_new(config, &error);
	g_assert_no_error(error);
	sched_system_options(system, system->rows_count - 1, &before);
	sched_system_free(system);
	config->unmeasured = &hole;
	config->unmeasured_count = 1;
	config->estimates_count--;
	system = workload_system_new(config, &error);
	g_assert_no_error(error);
	sched_system_options(system, system->rows_count - 1, &count);
	g_assert_cmpuint(count, ==, before - 1);
	sched_system_free(system);
	/* Of a type that never arrives all may be missing, and no task can be of it. */
	config->estimates_count = 0;
	config->unmeasured_count = 0;
	for (uint32_t i = 0; i < config->types_count; i++)
		config->types[i].share = 0;
	system = workload_system_new(config, &error);
	g_assert_no_error(error);
	workload = workload_open_new(1);
	workload->tasks[0] = (struct sched_task){.utility = utility_testbed(1, 1, 2)};
	workload->tasks_count = 1;
	g_assert_false(workload_check(workload, system, &error));
	g_assert_nonnull(strstr(error->message, "which can run nowhere"));
	sched_system_free(system);
	config->unmeasured = NULL;
	testbed_config_free(config);
}

static struct workload *draw(const struct config *config, const struct sched_system *system,
			     uint64_t seed, uint32_t trial)
{
	g_autoptr(GError) error = NULL;
	struct workload *workload = workload_testbed_new(config, system, seed, trial, &error);

	g_assert_no_error(error);
	return workload;
}

static void test_reproducible(void)
{
	struct config *config = testbed_config_new();
	struct sched_system *system = workload_system_new(config, NULL);
	g_autoptr(workload_t) a = draw(config, system, 0, 1);
	g_autoptr(workload_t) b = draw(config, system, 1, 1);
	g_autoptr(workload_t) c = draw(config, system, 1, 2);
	g_autoptr(workload_t) d = draw(config, system, 2, 1);

	g_assert_cmpuint(a->seed, ==, 1); /* the configured one */
	g_assert_cmpuint(a->tasks_count, ==, b->tasks_count);
	for (uint32_t i = 0; i < a->tasks_count; i++) {
		g_assert_cmpfloat(a->tasks[i].arrival_s, ==, b->tasks[i].arrival_s);
		g_assert_cmpuint(a->tasks[i].row, ==, b->tasks[i].row);
		g_assert_cmpfloat(a->tasks[i].utility.max, ==, b->tasks[i].utility.max);
	}
	g_assert_cmpfloat(a->tasks[0].arrival_s, !=, c->tasks[0].arrival_s);
	g_assert_cmpfloat(a->tasks[0].arrival_s, !=, d->tasks[0].arrival_s);
	sched_system_free(system);
	testbed_config_free(config);
}

/* Listed tasks are those of every trial, in the order of their arrivals. */
static void test_list(void)
{
	struct config *config = testbed_config_new();
	struct sched_system *system = workload_system_new(config, NULL);
	struct config_workload_task tasks[] = {
		{.type = config->types[1].name, .arrival_s = 30, .utility = 3},
		{.type = config->types[0].name, .arrival_s = 10},
		{.type = config->types[2].name, .arrival_s = 30, .utility = 5},
	};
	const uint32_t rows[] = {0, 1, 2};
	const double utilities[] = {9, 3, 5};

	config->types[0].utility_max = 9;
	config->workload->list = tasks;
	config->workload->list_count = G_N_ELEMENTS(tasks);
	for (uint32_t trial = 1; trial <= 2; trial++) {
		g_autoptr(workload_t) workload = draw(config, system, trial, trial);

		g_assert_cmpuint(workload->tasks_count, ==, G_N_ELEMENTS(tasks));
		for (uint32_t i = 0; i < workload->tasks_count; i++) {
			g_assert_cmpuint(workload->tasks[i].row, ==, rows[i]);
			g_assert_cmpfloat(workload->tasks[i].utility.max, ==, utilities[i]);
		}
		g_assert_cmpfloat(workload->tasks[0].arrival_s, ==, 10);
	}
	config->workload->list = NULL;
	config->workload->list_count = 0;
	sched_system_free(system);
	testbed_config_free(config);
}

static void test_flags(void)
{
	struct config *config = testbed_config_new();
	struct sched_system *system = workload_system_new(config, NULL);

	config->types[1].may_preempt = true;
	config->types[2].preemptible = true;

	g_autoptr(workload_t) workload = draw(config, system, 1, 1);

	for (uint32_t i = 0; i < workload->tasks_count; i++) {
		const struct sched_task *task = &workload->tasks[i];

		g_assert_cmpint(task->may_preempt, ==, task->row == 1);
		g_assert_cmpint(task->preemptible, ==, task->row == 2);
	}
	sched_system_free(system);
	testbed_config_free(config);
}

/* Means over many trials lie within five standard errors of what is asked for. */
static void test_distribution(void)
{
	struct config *config = testbed_config_new();
	struct sched_system *system = workload_system_new(config, NULL);
	uint32_t types[4] = {0};
	uint32_t maxima[5] = {0};
	double total = 0;
	const uint32_t trials = 500;

	for (uint32_t trial = 1; trial <= trials; trial++) {
		g_autoptr(workload_t) workload = draw(config, system, 7, trial);

		total += workload->tasks_count;
		for (uint32_t i = 0; i < workload->tasks_count; i++) {
			const struct sched_task *task = &workload->tasks[i];

			types[task->row]++;
			maxima[(int)task->utility.max]++;
			g_assert_cmpfloat(task->arrival_s, <, 10800);
			g_assert_cmpfloat(utility_end_s(&task->utility), ==,
					  4 * system->etc_min_s[task->row]);
		}
	}
	g_assert_cmpfloat_with_epsilon(total / trials, 90, 5 * sqrt(90.0 / trials));
	for (uint32_t row = 0; row < 4; row++) {
		const double share = config->types[row].share;

		g_assert_cmpfloat_with_epsilon(types[row] / total, share,
					       5 * sqrt(share * (1 - share) / total));
	}
	for (uint32_t max = 1; max <= 4; max++)
		g_assert_cmpfloat_with_epsilon(maxima[max] / total, 0.25,
					       5 * sqrt(0.25 * 0.75 / total));
	sched_system_free(system);
	testbed_config_free(config);
}

static void test_check(void)
{
	struct config *config = testbed_config_new();
	struct sched_system *system = workload_system_new(config, NULL);
	const struct sched_task good = {.arrival_s = 5, .utility = utility_testbed(1, 2, 3)};
	const struct {
		struct sched_task tasks[2];
		const char *says; /* NULL: good */
	} cases[] = {
		{{good, {1, 3, 5, good.utility}}, NULL},
		{{good, {1, 0, 4, good.utility}}, "task 1 arrives at 4 s, before task 0 at 5 s"},
		{{good, {2, 0, 6, good.utility}}, "task 1 has id 2"},
		{{{0, 0, -1, good.utility}, good}, "task 0 arrives at -1 s"},
		{{{0, 0, (double)NAN, good.utility}, good}, "task 0 arrives at nan s"},
		{{{0, 4, 0, good.utility}, good}, "task 0 is of type 4; there are 4"},
		{{{0, 0, 0, {1, 1, {{UTILITY_LINEAR, 1, 0.5, 1, 0}}}}, good},
		 "segment 0: the value increases"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct workload workload = {1, 1, 2, (struct sched_task *)cases[i].tasks};
		g_autoptr(GError) error = NULL;

		g_assert_cmpint(workload_check(&workload, system, &error), ==, !cases[i].says);
		if (cases[i].says)
			g_assert_nonnull(strstr(error->message, cases[i].says));
	}
	sched_system_free(system);
	testbed_config_free(config);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/workload/listed tasks are those of every trial", test_list);
	g_test_add_func("/workload/tasks have the flags of their type", test_flags);
	g_test_add_func("/workload/the testbed's tables become a system", test_system);
	g_test_add_func("/workload/a hole in the estimates is refused with its place", test_hole);
	g_test_add_func("/workload/a pair that could not be measured runs nothing",
			test_known_hole);
	g_test_add_func("/workload/seed and trial alone give the arrivals", test_reproducible);
	g_test_add_func("/workload/arrivals, types and maxima follow their distributions",
			test_distribution);
	g_test_add_func("/workload/arrivals out of order and other nonsense are refused",
			test_check);
	return g_test_run();
}
