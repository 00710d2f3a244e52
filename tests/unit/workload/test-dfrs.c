/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Workloads of Stillwell 2010: the Lublin model, its scaling and annotation, and the trials made of
 * them.
 */
#include <glib.h>
#include <math.h>

#include "controller/workload/dfrs.h"

#define JOBS 1000
#define TRIALS 40

/* The model can make every draw. */
static void test_ranges(void)
{
	struct lublin_job jobs[JOBS];

	for (uint64_t seed = 0; seed < TRIALS; seed++) {
		struct variates *variates = variates_new(seed, 0);

		lublin_draw(variates, JOBS, jobs);
		variates_free(variates);
		for (uint32_t i = 0; i < JOBS; i++) {
			g_assert_cmpfloat(jobs[i].arrival_s, >, i ? jobs[i - 1].arrival_s : 0);
			g_assert_cmpuint(jobs[i].nodes, >=, 1);
			g_assert_cmpuint(jobs[i].nodes, <=, LUBLIN_NODES);
			g_assert_cmpfloat(jobs[i].run_s, >=, 1);
			g_assert_cmpfloat(jobs[i].run_s, <=, exp(12));
			g_assert_cmpfloat(jobs[i].run_s, ==, floor(jobs[i].run_s));
		}
	}
}

/*
 * Means over all trials, with room for chance: serial jobs between the shares of the two kinds, a
 * thousand jobs in "4-6 days" (Stillwell 2010, IV.C), fewer arrivals at night than in the
 * afternoon.
 */
static void test_means(void)
{
	struct lublin_job jobs[JOBS];
	uint32_t serial = 0;
	uint32_t powers = 0;
	uint32_t night = 0;
	uint32_t afternoon = 0;
	double span_s = 0;

	for (uint64_t seed = 0; seed < TRIALS; seed++) {
		struct variates *variates = variates_new(seed, 0);

		lublin_draw(variates, JOBS, jobs);
		variates_free(variates);
		for (uint32_t i = 0; i < JOBS; i++) {
			const double hour = fmod(jobs[i].arrival_s, 86400) / 3600;

			serial += jobs[i].nodes == 1;
			powers += (jobs[i].nodes & (jobs[i].nodes - 1)) == 0;
			night += hour >= 2 && hour < 5;
			afternoon += hour >= 14 && hour < 17;
		}
		span_s += jobs[JOBS - 1].arrival_s - jobs[0].arrival_s;
	}
	g_assert_cmpfloat((double)serial / (JOBS * TRIALS), >, 0.1541);
	g_assert_cmpfloat((double)serial / (JOBS * TRIALS), <, 0.2927);
	g_assert_cmpfloat((double)powers / (JOBS * TRIALS), >, 0.75);
	g_assert_cmpuint(afternoon, >, 4 * night);
	g_assert_cmpfloat(span_s / TRIALS / 86400, >, 4);
	g_assert_cmpfloat(span_s / TRIALS / 86400, <, 7);
}

/* Scaled loads have the same jobs and the load asked for. */
static void test_scale(void)
{
	g_autofree struct dfrs_job *plain = dfrs_lublin_new(1, 3, JOBS, 0, 10);

	for (double load = 0.1; load < 0.95; load += 0.1) {
		g_autofree struct dfrs_job *scaled = dfrs_lublin_new(1, 3, JOBS, load, 10);
		double work_s = 0;

		for (uint32_t i = 0; i < JOBS; i++) {
			g_assert_cmpfloat(scaled[i].run_s, ==, plain[i].run_s);
			g_assert_cmpuint(scaled[i].demand.vms, ==, plain[i].demand.vms);
			g_assert_cmpfloat(scaled[i].demand.cpu, ==, plain[i].demand.cpu);
			g_assert_cmpfloat(scaled[i].demand.memory, ==, plain[i].demand.memory);
			work_s += scaled[i].run_s * scaled[i].demand.vms;
		}
		g_assert_cmpfloat_with_epsilon(work_s /
						       (LUBLIN_NODES * (scaled[JOBS - 1].arrival_s -
									scaled[0].arrival_s)),
					       load, 1e-9);
	}
}

/* Needs and requirements are those of section IV.C. */
static void test_demands(void)
{
	uint32_t small = 0;

	for (uint32_t trial = 1; trial <= TRIALS; trial++) {
		g_autofree struct dfrs_job *jobs = dfrs_lublin_new(1, trial, JOBS, 0, 10);

		for (uint32_t i = 0; i < JOBS; i++) {
			const struct sched_demand *demand = &jobs[i].demand;
			const double tenths = demand->memory * 10;

			g_assert_cmpfloat(demand->cpu, ==, demand->vms == 1 ? 0.25 : 1);
			g_assert_cmpfloat_with_epsilon(tenths, round(tenths), 1e-12);
			g_assert_cmpfloat(tenths, >, 0.9);
			g_assert_cmpfloat(tenths, <, 10.1);
			small += tenths < 1.5;
		}
	}
	g_assert_cmpfloat((double)small / (JOBS * TRIALS), >, 0.54);
	g_assert_cmpfloat((double)small / (JOBS * TRIALS), <, 0.56);
}

/* The largest requirement is reached and not passed; the others are as likely as each other. */
static void test_largest_memory(void)
{
	uint32_t counts[11] = {0};

	for (uint32_t trial = 1; trial <= TRIALS; trial++) {
		g_autofree struct dfrs_job *jobs = dfrs_lublin_new(1, trial, JOBS, 0, 9);

		for (uint32_t i = 0; i < JOBS; i++)
			counts[(uint32_t)round(jobs[i].demand.memory * 10)]++;
	}
	g_assert_cmpuint(counts[0] + counts[10], ==, 0);
	for (uint32_t tenths = 2; tenths <= 9; tenths++)
		g_assert_cmpfloat_with_epsilon((double)counts[tenths] / (JOBS * TRIALS), 0.45 / 8,
					       0.01);
}

/* HPC2N's jobs become tasks by the rules of section IV.C. */
static void test_hpc2n(void)
{
	const double gb = 1024 * 1024;
	struct swf_job from[] = {
		{1, 10, 5, 5, 4, 0.5 * gb},       /* even, a quarter each: 2 tasks of half */
		{2, 20, 5, 5, 3, 0.5 * gb},       /* odd: 3 tasks of a quarter */
		{3, 30, 5, 5, 4, 1.0 * gb},       /* half each: 4 tasks */
		{4, 40, 5, 5, 2, 0},              /* not known: 10 % each */
		{5, 50, 5, 5, 240, 1.5 * gb},     /* cannot run: 240 tasks of 3/4 */
		{6, 604800 + 7, 5, 5, 1, 4 * gb}, /* next week; all of a host's memory */
	};
	const struct swf_trace trace = {.jobs_count = G_N_ELEMENTS(from), .jobs = from};
	const struct sched_demand expected[] = {
		{2, 1, 0.5},
		{3, 0.5, 0.25},
		{4, 0.5, 0.5},
		{1, 1, 0.2},
	};
	uint32_t count;
	g_autofree struct dfrs_job *first = dfrs_hpc2n_new(&trace, 0, DFRS_HPC2N_HOSTS, &count);

	g_assert_cmpuint(dfrs_trace_weeks(&trace), ==, 2);
	g_assert_cmpuint(count, ==, 4);
	for (uint32_t i = 0; i < count; i++) {
		g_assert_cmpfloat(first[i].arrival_s, ==, 10 * (i + 1.0));
		g_assert_cmpuint(first[i].demand.vms, ==, expected[i].vms);
		g_assert_cmpfloat(first[i].demand.cpu, ==, expected[i].cpu);
		g_assert_cmpfloat(first[i].demand.memory, ==, expected[i].memory);
	}

	g_autofree struct dfrs_job *second = dfrs_hpc2n_new(&trace, 1, DFRS_HPC2N_HOSTS, &count);

	g_assert_cmpuint(count, ==, 1);
	g_assert_cmpfloat(second[0].arrival_s, ==, 7);
	g_assert_cmpfloat(second[0].demand.memory, ==, 1);
}

/*
 * Policies that share see hosts and no times; others see whole hosts and how long each job takes.
 */
static void test_trial(void)
{
	const struct dfrs_job jobs[] = {
		{1, 50, {4, 1, 0.1}},
		{2, 60, {3, 0.5, 0.2}},
		{3, 70, {4, 0.25, 0.4}},
	};
	g_autoptr(environment_trial_t) trial = dfrs_trial_new(jobs, 3, 4);
	const uint32_t hosts[] = {4, 2, 2};

	g_assert_true(trial->system->shared);
	g_assert_cmpuint(trial->system->rows_count, ==, 0);
	g_assert_cmpuint(trial->system->clusters[0].nodes, ==, 4);
	g_assert_cmpuint(trial->workload->tasks_count, ==, 3);
	g_assert_true(workload_check(trial->workload, trial->whole, NULL));
	for (uint32_t i = 0; i < 3; i++) {
		const struct sched_option *option = sched_system_option(trial->whole, i, 0, 0);

		g_assert_cmpuint(option->nodes, ==, hosts[i]);
		g_assert_cmpfloat(option->etc_s, ==, jobs[i].run_s);
		g_assert_cmpuint(trial->workload->tasks[i].demand.vms, ==, jobs[i].demand.vms);
	}
	g_assert_cmpfloat(dfrs_bounded_stretch(10, 5), ==, 1);
	g_assert_cmpfloat(dfrs_bounded_stretch(120, 5), ==, 4);
	g_assert_cmpfloat(dfrs_bounded_stretch(120, 60), ==, 2);
	g_assert_cmpfloat(dfrs_stretch_at_least(120, 60), ==, 2);
	g_assert_cmpfloat(dfrs_stretch_at_least(20, 60), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/dfrs/jobs are within the model's ranges", test_ranges);
	g_test_add_func("/dfrs/means are those of the model", test_means);
	g_test_add_func("/dfrs/a load is met by the same jobs", test_scale);
	g_test_add_func("/dfrs/needs and requirements are the paper's", test_demands);
	g_test_add_func("/dfrs/no task needs more memory than the largest requirement",
			test_largest_memory);
	g_test_add_func("/dfrs/the jobs of HPC2N become tasks", test_hpc2n);
	g_test_add_func("/dfrs/a trial has a system for each kind of policy", test_trial);
	return g_test_run();
}
