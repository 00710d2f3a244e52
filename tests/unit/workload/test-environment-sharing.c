/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Experiments on shared hosts (Stillwell 2010): trials are what dfrs.h draws, policies see the
 * system that is theirs, and results hold stretches, pauses and migrations.
 */
#include <glib/gstdio.h>
#include <math.h>

#include "controller/config/config_controller.h"
#include "controller/experiment/experiment.h"
#include "controller/experiment/trials.h"
#include "controller/workload/dfrs.h"
#include "controller/workload/environment.h"

static struct config *load(const char *sharing, const char *nodes, const char *policies)
{
	g_autofree char *text = g_strdup_printf(
		"name: jobs\nclusters: [{name: hosts, nodes: %s, cores: 4, memory_mib: 8192}]\n"
		"environment: {sharing: {%s}}\n"
		"experiment: {policies: [%s], limits: [1], mapping_interval_s: 600, "
		"duration_s: 1e9}\n",
		nodes, sharing, policies);
	g_autofree char *path = NULL;
	g_autoptr(GError) error = NULL;
	struct config *config;
	int fd = g_file_open_tmp("virtbed-sharing-XXXXXX.yaml", &path, NULL);

	g_assert_true(g_close(fd, NULL));
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return config;
}

/* The result of every policy on trial 1. */
static struct engine_result *run_all(const struct config *config)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, NULL, &error);
	struct engine_result *results;
	struct experiment_trial trial;

	g_assert_no_error(error);
	results = g_new0(struct engine_result, experiment->policies_count);
	g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));
	for (uint32_t i = 0; i < experiment->policies_count; i++) {
		const struct policy *policy = &experiment->policies[i];
		const struct engine_setup setup =
			experiment_trial_setup(experiment, &trial, policy, 1);

		g_assert_true(setup.system->shared == (policy->ops->sharing != NULL));
		g_assert_true(
			experiment_simulate_run(experiment, &trial, &setup, &results[i], NULL));
		g_assert_cmpint(results[i].ended_by, ==, ENGINE_END_DONE);
	}
	experiment_trial_clear(&trial);
	return results;
}

#define TWO_JOBS                                                                                   \
	"list: [{arrival_s: 0, run_s: 100, vms: 1, cpu: 1, memory: 0.6}, "                         \
	"{arrival_s: 40, run_s: 50, vms: 1, cpu: 1, memory: %s}]"

/*
 * Two jobs on one host. FCFS: the second waits until 100, stretch 110 / 50. GREEDY: the same where
 * the memory does not do, else both at half from 40 to 140, when the second ends after 100 s, and
 * the first at 150.
 */
static void test_stretches_by_hand(void)
{
	g_autofree char *small = g_strdup_printf(TWO_JOBS, "0.4");
	g_autoptr(config_t) config = load(small, "1", "fcfs, greedy");
	g_autofree struct engine_result *results = run_all(config);

	g_assert_cmpfloat_with_epsilon(results[0].stretch_max, 110.0 / 50, 1e-9);
	g_assert_cmpfloat_with_epsilon(results[0].stretch_mean, (1 + 110.0 / 50) / 2, 1e-9);
	g_assert_cmpfloat_with_epsilon(results[0].span_s, 150, 1e-9);
	g_assert_cmpfloat_with_epsilon(results[1].stretch_max, 2, 1e-9);
	g_assert_cmpfloat_with_epsilon(results[1].stretch_mean, (1.5 + 2) / 2, 1e-9);
	g_assert_cmpuint(results[1].pauses, ==, 0);
}

/*
 * Where both do not fit GREEDY-PMTN pauses the first at 40 and resumes it at 90: it ends at 150, or
 * with the penalty at 180.
 */
static void test_pauses_and_penalty_by_hand(void)
{
	for (int penalty_s = 0; penalty_s <= 30; penalty_s += 30) {
		g_autofree char *jobs =
			g_strdup_printf(TWO_JOBS ", penalty_s: %d", "0.5", penalty_s);
		g_autoptr(config_t) config = load(jobs, "1", "greedy-pmtn, greedy");
		g_autofree struct engine_result *results = run_all(config);

		g_assert_cmpuint(results[0].pauses, ==, 1);
		g_assert_cmpuint(results[0].migrations, ==, 0);
		g_assert_cmpfloat_with_epsilon(results[0].paused_memory, 0.6, 1e-9);
		g_assert_cmpfloat_with_epsilon(results[0].stretch_max, (150.0 + penalty_s) / 100,
					       1e-9);
		g_assert_cmpuint(results[1].pauses, ==, 0);
		g_assert_cmpfloat(results[1].stretch_max, >=, 110.0 / 50);
	}
}

/* Virtual time stands still for the penalty; DYNMCB8 decides otherwise where it does not. */
static void test_virtual_time_in_penalty(void)
{
	static const char *const sharings[] = {
		"jobs: 300, load: 0.9, penalty_s: 200",
		"jobs: 300, load: 0.9, penalty_s: 200, virtual_time_in_penalty: true",
	};
	double stretches[G_N_ELEMENTS(sharings)];

	for (int i = 0; i < 2; i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(config_t) config = load(sharings[i], "128", "dynmcb8");
		g_autoptr(experiment_t) experiment = experiment_new(config, NULL, &error);
		g_autofree struct engine_result *results = run_all(config);
		struct experiment_trial trial;

		g_assert_no_error(error);
		g_assert_true(experiment_trial_init(experiment, 0, 1, &trial, &error));
		g_assert_cmpfloat(experiment_trial_setup(experiment, &trial, experiment->policies,
							 1)
					  .virtual_pause_s,
				  ==, i == 0 ? 200 : 0);
		experiment_trial_clear(&trial);
		stretches[i] = results[0].stretch_mean;
	}
	g_assert_cmpfloat(stretches[0], !=, stretches[1]);
}

/* A trial is what dfrs_lublin_new() draws. */
static void test_trial_is_the_models(void)
{
	g_autoptr(config_t) config = load("jobs: 50, load: 0.4, memory_tenths: 3", "128", "fcfs");
	g_autoptr(GError) error = NULL;
	g_autoptr(environment_trial_t) trial = environment_trial_new(config, NULL, 7, 3, &error);
	g_autofree struct dfrs_job *jobs = dfrs_lublin_new(7, 3, 50, 0.4, 3);

	g_assert_no_error(error);
	g_assert_cmpuint(trial->workload->seed, ==, 7);
	g_assert_cmpuint(trial->workload->trial, ==, 3);
	g_assert_cmpuint(trial->workload->tasks_count, ==, 50);
	for (uint32_t i = 0; i < 50; i++) {
		g_assert_cmpfloat(trial->workload->tasks[i].arrival_s, ==, jobs[i].arrival_s);
		g_assert_cmpfloat(trial->workload->tasks[i].demand.memory, ==,
				  jobs[i].demand.memory);
		g_assert_cmpfloat(trial->whole->etc_s[i], ==, jobs[i].run_s);
	}
}

/* As when a study makes the cluster smaller. */
static void test_job_that_cannot_run_is_named(void)
{
	g_autoptr(config_t) config = load("jobs: 200", "128", "fcfs");
	g_autoptr(GError) error = NULL;

	config->clusters[0].nodes = 3;
	g_assert_null(environment_trial_new(config, NULL, 1, 1, &error));
	g_assert_true(g_error_matches(error, WORKLOAD_ERROR, WORKLOAD_ERROR_TASK));
	g_assert_nonnull(
		strstr(error->message, "of trial 1 could not run on the empty cluster \"hosts\""));
}

/* Weeks are counted from the configured one; what lies behind the trace is named. */
static void test_weeks_of_a_trace(void)
{
	g_autoptr(config_t) config = load("week: 2", "128", "fcfs");
	struct swf_job swf[] = {
		{.id = 1, .submit_s = 10, .run_s = 5, .procs = 1},
		{.id = 2, .submit_s = 7 * 86400 + 20, .run_s = 6, .procs = 3},
		{.id = 3, .submit_s = 7 * 86400 + 30, .run_s = 7, .procs = 4},
	};
	const struct swf_trace trace = {.jobs_count = 3, .jobs = swf};
	g_autoptr(GError) error = NULL;
	g_autoptr(environment_trial_t) trial = environment_trial_new(config, &trace, 1, 1, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trial->workload->tasks_count, ==, 2);
	g_assert_cmpfloat(trial->workload->tasks[0].arrival_s, ==, 20);
	g_assert_cmpuint(trial->workload->tasks[0].demand.vms, ==, 3);
	g_assert_cmpuint(trial->workload->tasks[1].demand.vms, ==, 2);
	g_assert_null(environment_trial_new(config, &trace, 1, 2, &error));
	g_assert_nonnull(strstr(error->message, "environment.sharing.week"));
}

static void test_threads_do_not_matter(void)
{
	g_autoptr(config_t) config = load("jobs: 40, load: 0.9", "128",
					  "easy, greedy-pmtn-migr, dynmcb8, dynmcb8-asap-per");
	g_autoptr(GError) error = NULL;
	g_autoptr(experiment_t) experiment = experiment_new(config, NULL, &error);
	const double limit_j = 1;
	struct trials trials = {
		.experiment = experiment,
		.trials = 4,
		.jobs = 1,
		.limits_j = &limit_j,
		.limits_count = 1,
	};
	g_autofree struct engine_result *one = trials_run(&trials, &error);

	g_assert_no_error(error);
	trials.jobs = 3;

	g_autofree struct engine_result *three = trials_run(&trials, &error);

	g_assert_no_error(error);
	for (uint32_t i = 0; i < 4 * 4; i++) {
		g_assert_cmpfloat(one[i].stretch_max, >=, 1);
		g_assert_cmpfloat(one[i].stretch_max, ==, three[i].stretch_max);
		g_assert_cmpfloat(one[i].stretch_mean, ==, three[i].stretch_mean);
		g_assert_cmpuint(one[i].migrations, ==, three[i].migrations);
		g_assert_cmpfloat(one[i].paused_memory, ==, three[i].paused_memory);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/environment-sharing/stretches-by-hand", test_stretches_by_hand);
	g_test_add_func("/environment-sharing/pauses-and-penalty-by-hand",
			test_pauses_and_penalty_by_hand);
	g_test_add_func("/environment-sharing/virtual-time-in-penalty",
			test_virtual_time_in_penalty);
	g_test_add_func("/environment-sharing/trial-is-the-models", test_trial_is_the_models);
	g_test_add_func("/environment-sharing/job-that-cannot-run-is-named",
			test_job_that_cannot_run_is_named);
	g_test_add_func("/environment-sharing/weeks-of-a-trace", test_weeks_of_a_trace);
	g_test_add_func("/environment-sharing/threads-do-not-matter", test_threads_do_not_matter);
	return g_test_run();
}
