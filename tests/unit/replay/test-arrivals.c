/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Semi-open arrivals and shaken traces. */
#include <glib.h>
#include <math.h>

#include "common/json.h"
#include "common/random.h"
#include "controller/replay/replay_arrivals.h"
#include "controller/replay/replay_trials.h"

/* Jobs of three users with waits, by time of submission. */
static struct swf_trace *make_trace(uint64_t seed, double wait_s)
{
	struct swf_trace *trace = g_new0(struct swf_trace, 1);
	struct random_stream random;
	double submit_s = 0;

	random_stream_init(&random, seed, 0);
	trace->procs = 1000;
	trace->jobs_count = 40;
	trace->jobs = g_new0(struct swf_job, trace->jobs_count);
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		submit_s += (double)random_stream_below(&random, 4) * 5;
		trace->jobs[i] = (struct swf_job){
			.id = i + 1,
			.submit_s = submit_s,
			.run_s = 1 + (double)random_stream_below(&random, 30),
			.procs = 1 + (uint32_t)random_stream_below(&random, 8),
			.wait_s = wait_s,
			.user = (int64_t)random_stream_below(&random, 4) - 1,
		};
		trace->jobs[i].estimate_s = trace->jobs[i].run_s;
	}
	return trace;
}

static void run(const struct swf_trace *trace, uint32_t procs, double think_most_s,
		struct replay_result *ret_result)
{
	const struct replay_setup setup = {
		.trace = trace,
		.procs = procs,
		.policy = replay_policy_find("fcfs"),
		.semi_open = true,
		.think_most_s = think_most_s,
	};

	replay_run(&setup, ret_result);
}

/*
 * One processor, one user, think times of at most 20 s in a session: job 1 at 0 for 10 s, job 2 at
 * 5 for 10 s, before job 1 had ended: one batch, till 20 as the trace had it (job 2 waited 5 s);
 * job 3 at 26, 6 s after that: the session's next batch; job 4 at 100: another session. Job 9 of
 * another user takes the processor from 0 to 50.
 */
static void test_by_hand(void)
{
	struct swf_job jobs[] = {
		{9, 0, 50, 50, 1, 0, 0, 2}, {1, 0, 10, 10, 1, 0, 0, 1}, {2, 5, 10, 10, 1, 0, 5, 1},
		{3, 26, 4, 4, 1, 0, 0, 1},  {4, 100, 1, 1, 1, 0, 0, 1},
	};
	static const double submit_s[] = {0, 0, 5, 76, 100};
	static const double start_s[] = {0, 50, 60, 76, 100};
	const struct swf_trace trace = {.jobs = jobs, .jobs_count = 5, .procs = 1};
	struct replay_result result;

	run(&trace, 1, 20, &result);
	for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++) {
		g_assert_cmpfloat(result.submit_s[i], ==, submit_s[i]);
		g_assert_cmpfloat(result.start_s[i], ==, start_s[i]);
	}
	g_assert_cmpuint(result.sessions, ==, 3);
	g_assert_cmpuint(result.followed, ==, 1);
	replay_finish(&result);
	/* With breaks from 5 s on, every batch is a session. */
	run(&trace, 1, 5, &result);
	g_assert_cmpfloat(result.submit_s[3], ==, 26);
	g_assert_cmpuint(result.sessions, ==, 4);
	replay_finish(&result);
}

/* Where no job waits, in the trace and in the replay, users submit when they did. */
static void test_same_times(void)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		g_autoptr(swf_trace_t) trace = make_trace(seed, 0);
		struct replay_result result;

		run(trace, trace->procs, 30, &result);
		for (uint32_t i = 0; i < trace->jobs_count; i++) {
			g_assert_cmpfloat(result.submit_s[i], ==, trace->jobs[i].submit_s);
			g_assert_cmpfloat(result.start_s[i], ==, trace->jobs[i].submit_s);
		}
		replay_finish(&result);
	}
}

/* On a machine that is too small, all jobs still come, none before its time in the trace. */
static void test_slow(void)
{
	uint32_t followed = 0;
	bool later = false;

	for (uint64_t seed = 0; seed < 200; seed++) {
		g_autoptr(swf_trace_t) trace = make_trace(seed, -1);
		struct replay_result result;

		run(trace, 8, 30, &result);
		for (uint32_t i = 0; i < trace->jobs_count; i++) {
			g_assert_cmpfloat(result.submit_s[i], >=, trace->jobs[i].submit_s);
			g_assert_cmpfloat(result.start_s[i], >=, result.submit_s[i]);
			later |= result.submit_s[i] > trace->jobs[i].submit_s;
		}
		followed += result.followed;
		replay_finish(&result);
	}
	g_assert_cmpuint(followed, >, 0);
	g_assert_true(later);
}

static void test_shake(void)
{
	g_autoptr(swf_trace_t) trace = make_trace(1, 0);
	g_autoptr(swf_trace_t) shaken = replay_shake(trace, 7, 5, 1);
	g_autoptr(swf_trace_t) same = replay_shake(trace, 7, 5, 1);
	g_autoptr(swf_trace_t) other = replay_shake(trace, 7, 5, 2);
	bool differs = false;

	g_assert_cmpuint(shaken->jobs_count, ==, trace->jobs_count);
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const struct swf_job *job = &shaken->jobs[i];
		const struct swf_job *from = &trace->jobs[job->id - 1];

		g_assert_cmpfloat(job->submit_s, >=, 0);
		g_assert_cmpfloat(fabs(job->submit_s - from->submit_s), <=, 7);
		g_assert_cmpfloat(job->run_s, ==, from->run_s);
		g_assert_true(i == 0 || shaken->jobs[i - 1].submit_s <= job->submit_s);
		g_assert_cmpfloat(same->jobs[i].submit_s, ==, job->submit_s);
		differs |= other->jobs[i].submit_s != job->submit_s;
	}
	g_assert_true(differs);
	g_assert_cmpuint(shaken->unsorted, ==, 0);
}

static void test_means(void)
{
	const struct replay_summary summaries[] = {
		{.nb_jobs = 3, .passes = 10, .makespan_s = 1, .max_slip_job = 7},
		{.nb_jobs = 3, .passes = 13, .makespan_s = 3, .max_slip_job = 8},
		{.nb_jobs = 3, .passes = 12, .makespan_s = 5, .max_slip_job = 9},
	};
	struct replay_summary means;
	struct replay_summary deviations;

	replay_summary_means(summaries, 3, &means, &deviations);
	g_assert_cmpuint(means.nb_jobs, ==, 3);
	g_assert_cmpuint(means.passes, ==, 12);
	g_assert_cmpfloat(means.makespan_s, ==, 3);
	g_assert_cmpfloat(deviations.makespan_s, ==, 2);
	g_assert_cmpint(means.max_slip_job, ==, 7);
}

/* A deviation is null where its mean is: no policy but conservative reserves what could slip. */
static void test_null_deviations(void)
{
	static const struct {
		const char *policy;
		uint64_t promised;
		bool known;
	} cases[] = {{"fcfs", 0, false}, {"conservative", 3, true}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct swf_trace trace = {0};
		const struct replay_setup setup = {
			.policy = replay_policy_find(cases[i].policy),
			.trace = &trace,
		};
		const struct replay_summary means = {.nb_jobs_promised = cases[i].promised};
		const struct replay_summary deviations = {.max_slip_s = 2, .makespan_s = 3};
		g_autoptr(json_t) object = replay_summary_json(&setup, &means);

		replay_summary_add_deviations(object, &deviations);
		g_assert_cmpfloat(json_real_value(json_object_get(object, "makespan_deviation")),
				  ==, 3);
		g_assert_true(json_is_null(json_object_get(object, "max_slip")) != cases[i].known);
		g_assert_true(json_is_null(json_object_get(object, "max_slip_deviation")) !=
			      cases[i].known);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/arrivals/a user who reacts, worked out by hand", test_by_hand);
	g_test_add_func("/arrivals/without waits users submit when they did", test_same_times);
	g_test_add_func("/arrivals/on a slow machine users submit later", test_slow);
	g_test_add_func("/arrivals/a shaken trace has the same jobs at other times", test_shake);
	g_test_add_func("/arrivals/trials have means and deviations", test_means);
	g_test_add_func("/arrivals/a deviation is null where its mean is", test_null_deviations);
	return g_test_run();
}
