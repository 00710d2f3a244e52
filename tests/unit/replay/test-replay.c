/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/random.h"
#include "controller/replay/replay_batsim.h"
#include "controller/replay/replay_registry.h"
#include "controller/replay/replay_report.h"
#include "controller/replay/replay_sim.h"
#include "controller/sched/policy.h"
#include "tests/oracle/replay_oracle.h"
#include "tests/oracle/trace_oracle.h"

/* Options of a replay: bits of a case. */
enum {
	PERFECT = 1,
	OVERRUN = 2,
	KEEP = 4,
	REBUILD = 8, /* not with KEEP */
	ALL_OPTIONS = 12,
};

static void check_job(const struct swf_trace *trace, const char *policy, uint32_t options,
		      const struct replay_result *result, const struct replay_oracle_fate *fate,
		      uint32_t i)
{
	const double slip_s = fmax(fate->start_s - fate->least_s, 0);

	if (result->start_s[i] != fate->start_s)
		g_error("%s, options %u: job %" G_GINT64_FORMAT " starts at %g, not at %g", policy,
			options, trace->jobs[i].id, result->start_s[i], fate->start_s);
	if (result->promised_s[i] != fate->first_s)
		g_error("%s, options %u: job %" G_GINT64_FORMAT " is promised %g, not %g", policy,
			options, trace->jobs[i].id, result->promised_s[i], fate->first_s);
	if (result->slip_s[i] != slip_s)
		g_error("%s, options %u: the promise to job %" G_GINT64_FORMAT
			" slips by %g s, not by %g s",
			policy, options, trace->jobs[i].id, result->slip_s[i], slip_s);
	if (!(options & (OVERRUN | REBUILD)) && slip_s > 0)
		g_error("%s, options %u: job %" G_GINT64_FORMAT " was promised %g and starts at %g",
			policy, options, trace->jobs[i].id, fate->least_s, fate->start_s);
}

/*
 * Starts, promises and slips equal those of the oracle, and promises hold where they must. Returns
 * how many slipped.
 */
static uint32_t compare(const struct swf_trace *trace, const char *policy, uint32_t options)
{
	const struct replay_setup setup = {
		.trace = trace,
		.procs = trace->procs,
		.policy = replay_policy_find(policy),
		.estimates = options & PERFECT ? REPLAY_ESTIMATES_PERFECT : REPLAY_ESTIMATES_USER,
		.overrun = options & OVERRUN,
		.keep = options & KEEP,
		.rebuild = options & REBUILD,
	};
	const struct replay_oracle plain = {trace,         trace->procs,
					    policy,        options & PERFECT,
					    setup.overrun, setup.keep,
					    setup.rebuild};
	g_autofree struct replay_oracle_fate *fates = replay_oracle_run(&plain);
	struct replay_result result;
	uint32_t slipped = 0;

	replay_run(&setup, &result);
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		check_job(trace, policy, options, &result, &fates[i], i);
		slipped += result.slip_s[i] > 0;
	}
	g_assert_cmpuint(result.slipped, ==, slipped);
	replay_finish(&result);
	return slipped;
}

/* Whether the options can be given with a policy; orders keep no reservations. */
static bool may_be(const char *policy, uint32_t options)
{
	return options < KEEP || !replay_policy_is_order(replay_policy_find(policy));
}

static void compare_all(const struct swf_trace *trace, const char *policy)
{
	/* There are many orders, and a plain replay takes its time. */
	if (replay_policy_is_order(replay_policy_find(policy))) {
		compare(trace, policy, 0);
		return;
	}
	for (uint32_t options = 0; options < ALL_OPTIONS; options++)
		compare(trace, policy, options);
}

/* The jobs are those that the oracle reads, in that order. */
static void compare_jobs(const struct swf_trace *trace, const char *path, uint32_t first)
{
	g_autoptr(GArray) jobs = trace_oracle_read(path, trace->procs, first);

	g_assert_cmpuint(trace->jobs_count, ==, jobs->len);
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const struct swf_job *plain = &g_array_index(jobs, struct swf_job, i);

		g_assert_cmpint(trace->jobs[i].id, ==, plain->id);
		g_assert_cmpfloat(trace->jobs[i].submit_s, ==, plain->submit_s);
		g_assert_cmpfloat(trace->jobs[i].run_s, ==, plain->run_s);
		g_assert_cmpfloat(trace->jobs[i].estimate_s, ==, plain->estimate_s);
		g_assert_cmpuint(trace->jobs[i].procs, ==, plain->procs);
	}
}

/* A short trace with many ties: times and widths from small sets. */
static struct swf_trace *make_trace(uint64_t seed)
{
	static const double times_s[] = {1, 5, 5, 10, 20, 60};
	struct swf_trace *trace = g_new0(struct swf_trace, 1);
	struct random_stream random;
	double submit_s = 0;

	random_stream_init(&random, seed, 0);
	trace->procs = 1 + (uint32_t)random_stream_below(&random, 12);
	trace->jobs_count = 1 + (uint32_t)random_stream_below(&random, 24);
	trace->jobs = g_new0(struct swf_job, trace->jobs_count);
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		submit_s += (double)random_stream_below(&random, 3) * 4;
		trace->jobs[i] = (struct swf_job){
			.id = i + 1,
			.submit_s = submit_s,
			.run_s = times_s[random_stream_below(&random, 6)],
			.estimate_s = times_s[random_stream_below(&random, 6)],
			.procs = 1 + (uint32_t)random_stream_below(&random, trace->procs),
		};
	}
	return trace;
}

static void test_random(const void *data)
{
	const uint64_t seeds = replay_policy_is_order(replay_policy_find(data)) ? 60 : 600;
	uint32_t slipped[ALL_OPTIONS] = {0};

	for (uint64_t seed = 0; seed < seeds; seed++) {
		g_autoptr(swf_trace_t) trace = make_trace(seed);

		for (uint32_t options = 0; options < ALL_OPTIONS; options++)
			if (may_be(data, options))
				slipped[options] += compare(trace, data, options);
	}
	if (strcmp(data, "conservative") != 0)
		return;
	/* Traces in which promises could slip, where they may. */
	g_assert_cmpuint(slipped[0], ==, 0);
	g_assert_cmpuint(slipped[OVERRUN], >, 0);
	g_assert_cmpuint(slipped[REBUILD], >, 0);
}

static void test_synthetic(const void *data)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "traces", "synthetic.swf", NULL);
	const struct swf_filter some = {.first = 120}; /* a plain replay takes its time */
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = swf_read(path, &some, &error);

	g_assert_no_error(error);
	compare_jobs(trace, path, some.first);
	compare_all(trace, data);
}

/*
 * The first 3,000 jobs of KTH-SP2 on its 100 processors, as real as it gets; fewer with the rarer
 * options, under which a plain replay takes its time.
 */
static void test_kth(const void *data)
{
	const char *folder = g_getenv("VIRTBED_TRACES");
	g_autofree char *path =
		g_build_filename(folder ? folder : "", "KTH-SP2-1996-2.1-cln.swf.gz", NULL);
	const struct swf_filter filter = {.procs = 100, .first = 3000};
	g_autoptr(GError) error = NULL;
	const struct swf_filter some = {.procs = 100, .first = 500};
	g_autoptr(swf_trace_t) trace = NULL;
	g_autoptr(swf_trace_t) begin = NULL;

	if (!folder || !g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_test_skip("VIRTBED_TRACES names no folder with KTH-SP2-1996-2.1-cln.swf.gz "
			    "(docs/how-to/replay.md); the synthetic trace stands in for it");
		return;
	}
	trace = swf_read(path, &filter, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(trace->jobs_count, ==, 3000);
	compare_jobs(trace, path, filter.first);
	compare(trace, data, 0);
	if (!replay_policy_is_order(replay_policy_find(data)))
		compare(trace, data, PERFECT);
	begin = swf_read(path, &some, &error);
	g_assert_no_error(error);
	compare_all(begin, data);
}

/* Jobs of a machine of 4: start and end worked out by hand. */
static void test_by_hand(void)
{
	struct swf_job jobs[] = {
		{.id = 1, .submit_s = 0, .run_s = 6, .estimate_s = 10, .procs = 3},
		{.id = 2, .submit_s = 1, .run_s = 9, .estimate_s = 5, .procs = 4},
		{.id = 3, .submit_s = 2, .run_s = 3, .estimate_s = 8, .procs = 1},
		{.id = 4, .submit_s = 2, .run_s = 2, .estimate_s = 9, .procs = 1},
	};
	const struct swf_trace trace = {.jobs_count = 4, .jobs = jobs, .procs = 4};
	const struct {
		const char *policy;
		bool overrun;
		bool keep;
		double starts[4];
	} cases[] = {
		{"fcfs", false, false, {0, 6, 11, 11}},
		{"fcfs", true, false, {0, 6, 15, 15}},
		/* Job 3 ends by its estimate at 10, when job 2 is expected to start; job 4 not. */
		{"easy", false, false, {0, 6, 2, 11}},
		{"conservative", false, false, {0, 6, 2, 11}},
		{"easy", false, true, {0, 10, 2, 15}},
		{"conservative", false, true, {0, 10, 2, 15}},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct replay_setup setup = {
			.trace = &trace,
			.procs = 4,
			.policy = replay_policy_find(cases[i].policy),
			.overrun = cases[i].overrun,
			.keep = cases[i].keep,
		};
		struct replay_result result;

		replay_run(&setup, &result);
		for (uint32_t j = 0; j < 4; j++)
			g_assert_cmpfloat(result.start_s[j], ==, cases[i].starts[j]);
		replay_finish(&result);
	}
}

/*
 * Two processors. Job 2 ends early, at 7. Job 4 was promised 7; a schedule made from nothing gives
 * 7 to job 3, which came before, and 10 to job 4.
 */
static void test_promise(void)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "traces", "promise.swf", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = swf_read(path, &(struct swf_filter){0}, &error);
	static const struct {
		bool rebuild;
		double starts[4];
		uint32_t slipped;
	} cases[] = {
		{false, {0, 1, 9, 7}, 0},
		{true, {0, 1, 7, 10}, 1},
	};

	g_assert_no_error(error);
	g_assert_cmpuint(trace->jobs_count, ==, 4);
	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct replay_setup setup = {
			.trace = trace,
			.procs = trace->procs,
			.policy = replay_policy_find("conservative"),
			.rebuild = cases[i].rebuild,
		};
		struct replay_result result;

		replay_run(&setup, &result);
		for (uint32_t j = 0; j < 4; j++)
			g_assert_cmpfloat(result.start_s[j], ==, cases[i].starts[j]);
		g_assert_cmpfloat(result.promised_s[3], ==, 7);
		g_assert_cmpuint(result.slipped, ==, cases[i].slipped);
		g_assert_cmpfloat(result.slip_s[3], ==, cases[i].rebuild ? 3 : 0);
		replay_finish(&result);
	}
}

/* Job 1 outlives its estimate by 4 s: job 2 slips by as much, and job 3, behind it, by no more. */
static void test_overrun(void)
{
	struct swf_job jobs[] = {
		{.id = 1, .submit_s = 0, .run_s = 14, .estimate_s = 10, .procs = 2},
		{.id = 2, .submit_s = 1, .run_s = 5, .estimate_s = 5, .procs = 2},
		{.id = 3, .submit_s = 2, .run_s = 5, .estimate_s = 5, .procs = 2},
	};
	const struct swf_trace trace = {.jobs_count = 3, .jobs = jobs, .procs = 2};
	struct replay_setup setup = {.trace = &trace,
				     .procs = 2,
				     .policy = replay_policy_find("conservative"),
				     .overrun = true};
	struct replay_summary summary;
	struct replay_result result;

	replay_run(&setup, &result);
	g_assert_cmpfloat(result.promised_s[1], ==, 10);
	g_assert_cmpfloat(result.promised_s[2], ==, 15);
	g_assert_cmpfloat(result.slip_s[1], ==, 4);
	g_assert_cmpfloat(result.slip_s[2], ==, 4);
	replay_summarize(&setup, &result, &summary);
	g_assert_cmpuint(summary.nb_jobs_slipped, ==, 2);
	g_assert_cmpfloat(summary.max_slip_s, ==, 4);
	g_assert_cmpint(summary.max_slip_job, ==, 2);
	replay_finish(&result);
}

/*
 * A policy of the registry that is defined as one of replay's own starts every job when that does.
 */
static void test_registry(const void *data)
{
	const char *name = data;
	char *wrong = NULL;
	struct replay_policy *registered = replay_registry_new(name, &wrong);

	g_assert_null(wrong);
	for (uint64_t seed = 0; seed < 60; seed++) {
		g_autoptr(swf_trace_t) trace = make_trace(seed);
		struct replay_setup setup = {
			.trace = trace,
			.procs = trace->procs,
			.policy = replay_policy_find(name),
		};
		struct replay_result own;
		struct replay_result result;

		replay_run(&setup, &own);
		setup.policy = registered;
		replay_run(&setup, &result);
		for (uint32_t i = 0; i < trace->jobs_count; i++)
			if (result.start_s[i] != own.start_s[i])
				g_error("%s, seed %" G_GUINT64_FORMAT ": job %u starts at %g, not "
					"at %g",
					name, seed, i + 1, result.start_s[i], own.start_s[i]);
		replay_finish(&own);
		replay_finish(&result);
	}
	replay_registry_free(registered);
}

/* Under every policy of the registry that gives tasks nodes, all jobs start, and none too wide. */
static void test_all_registered(void)
{
	static const char *const modifiers[] = {"", "+reservations", "+easy"};
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);
	uint32_t replayed = 0;

	for (uint32_t p = 0; p < count * G_N_ELEMENTS(modifiers); p++) {
		g_autofree char *name =
			g_strconcat(list[p % count]->name, modifiers[p / count], NULL);
		g_autofree char *wrong = NULL;
		struct replay_policy *policy = replay_registry_new(name, &wrong);

		g_assert_true((policy == NULL) == (wrong != NULL));
		for (uint64_t seed = 0; policy && seed < 20; seed++) {
			g_autoptr(swf_trace_t) trace = make_trace(seed);
			const struct replay_setup setup = {.trace = trace,
							   .procs = trace->procs,
							   .policy = policy,
							   .overrun = seed % 2 == 1};
			struct replay_result result;
			g_autoptr(batsim_schedule_t) schedule = NULL;

			replay_run(&setup, &result);
			for (uint32_t i = 0; i < trace->jobs_count; i++)
				g_assert_cmpfloat(result.start_s[i], >=, trace->jobs[i].submit_s);
			/* It numbers the processors, of which there are never too few. */
			schedule = replay_batsim(&setup, &result, "test");
			replay_finish(&result);
			replayed++;
		}
		replay_registry_free(policy);
	}
	g_assert_cmpuint(replayed, >, 20 * 20);
}

/* The latest submission, the longest run and the longest estimate that a trace can have. */
static void test_late(void)
{
	static const char *const modifiers[] = {"", "+reservations", "+easy"};
	uint32_t count;
	const struct policy_ops *const *list = policy_list(&count);
	uint32_t replayed = 0;
	struct swf_job jobs[] = {
		{.id = 1, .submit_s = SWF_EXACT_MAX - 4, .run_s = 64, .estimate_s = 8, .procs = 2},
		{.id = 2,
		 .submit_s = SWF_EXACT_MAX,
		 .run_s = 64,
		 .estimate_s = SWF_EXACT_MAX,
		 .procs = 2},
		{.id = 3,
		 .submit_s = SWF_EXACT_MAX,
		 .run_s = SWF_EXACT_MAX,
		 .estimate_s = SWF_EXACT_MAX,
		 .procs = 1},
		{.id = 4, .submit_s = SWF_EXACT_MAX, .run_s = 2, .estimate_s = 2, .procs = 2},
	};
	const struct swf_trace trace = {.jobs_count = 4, .jobs = jobs, .procs = 2};

	for (uint32_t p = 0; p < count * G_N_ELEMENTS(modifiers); p++) {
		g_autofree char *name =
			g_strconcat(list[p % count]->name, modifiers[p / count], NULL);
		g_autofree char *wrong = NULL;
		struct replay_policy *policy = replay_registry_new(name, &wrong);

		for (uint32_t overrun = 0; policy && overrun < 2; overrun++) {
			const struct replay_setup setup = {.trace = &trace,
							   .procs = 2,
							   .policy = policy,
							   .overrun = overrun};
			g_autoptr(batsim_schedule_t) schedule = NULL;
			g_autoptr(GError) error = NULL;
			struct replay_result result;

			replay_run(&setup, &result);
			replay_check(&setup, &result, &error);
			g_assert_no_error(error);
			for (uint32_t j = 0; j < trace.jobs_count; j++)
				g_assert_cmpfloat(result.start_s[j], >=, jobs[j].submit_s);
			/* It numbers the processors, of which there are never too few. */
			schedule = replay_batsim(&setup, &result, "test");
			replay_finish(&result);
			replayed++;
		}
		replay_registry_free(policy);
	}
	g_assert_cmpuint(replayed, >, 40);
}

/* Starts what fits at once, but not the job of number 1 in the trace. */
static void pass_but_one(struct replay *replay)
{
	for (uint32_t place = 0; place < replay->queue_count;)
		if (replay_waiting(replay, place)->job == 1) {
			place++;
		} else {
			replay_start(replay, replay_waiting(replay, place));
			replay_unqueue(replay, place);
		}
}

/* A policy that leaves jobs waiting for ever has no results, and the first of them is named. */
static void test_never_started(void)
{
	struct swf_job jobs[] = {
		{.id = 11, .submit_s = 0, .run_s = 5, .estimate_s = 5, .procs = 1},
		{.id = 12, .submit_s = 1, .run_s = 5, .estimate_s = 5, .procs = 1, .user = 4},
		{.id = 13, .submit_s = 2, .run_s = 5, .estimate_s = 5, .procs = 1},
		{.id = 14, .submit_s = 9, .run_s = 5, .estimate_s = 5, .procs = 1, .user = 4},
	};
	const struct swf_trace trace = {.jobs_count = 4, .jobs = jobs, .procs = 4};
	const struct replay_policy policy = {.name = "but-one", .pass = pass_but_one};
	struct replay_setup setup = {.trace = &trace,
				     .procs = 4,
				     .policy = &policy,
				     .think_most_s = 100};
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) follows = NULL;
	struct replay_result result;

	replay_run(&setup, &result);
	g_assert_true(isnan(result.start_s[1]) && isnan(result.end_s[1]));
	g_assert_cmpfloat(result.end_s[3], ==, 14);
	g_assert_cmpfloat(result.makespan_s, ==, 14);
	g_assert_false(replay_check(&setup, &result, &error));
	g_assert_error(error, REPLAY_ERROR, REPLAY_ERROR_UNSTARTED);
	g_assert_nonnull(strstr(error->message, "--policy but-one: job 12 never started"));
	replay_finish(&result);
	/* What its user would have submitted after it never came. */
	setup.semi_open = true;
	replay_run(&setup, &result);
	g_assert_true(isnan(result.submit_s[3]) && isnan(result.start_s[3]));
	g_assert_false(replay_check(&setup, &result, &follows));
	g_assert_nonnull(strstr(follows->message, "job 12 never started, and 2 of 4 jobs did not"));
	replay_finish(&result);
}

static void test_registry_refuses(void)
{
	static const struct {
		const char *name;
		const char *says;
	} cases[] = {
		{"nonsense", "unknown policy"},
		{"pam", "gives tasks no nodes of their own"},
		{"exec:./mine.py", "asks no policy from outside"},
		{"dynmcb8", "gives tasks no nodes of their own"},
		{"max-upt+drop:2", "a replay drops no jobs"},
		{"max-upt+nonsense", "unknown modifier"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *wrong = NULL;

		g_assert_null(replay_registry_new(cases[i].name, &wrong));
		if (!strstr(wrong, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", wrong, cases[i].says);
	}
}

static void test_report(void)
{
	struct swf_job jobs[] = {
		{.id = 7, .submit_s = 2, .run_s = 5, .estimate_s = 10, .procs = 2},
		{.id = 9, .submit_s = 3.5, .run_s = 20, .estimate_s = 10, .procs = 1},
	};
	const struct swf_trace trace = {.jobs_count = 2, .jobs = jobs, .procs = 2, .refused = 3};
	const struct replay_setup setup = {.trace = &trace,
					   .procs = 2,
					   .policy = replay_policy_find("fcfs")};
	g_autofree char *folder = g_dir_make_tmp("replay-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "jobs.csv", NULL);
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	struct replay_result result;
	struct replay_summary summary;
	g_auto(GStrv) lines = NULL;

	replay_run(&setup, &result);
	replay_summarize(&setup, &result, &summary);
	g_assert_cmpuint(summary.nb_jobs, ==, 5);
	g_assert_cmpuint(summary.nb_jobs_success, ==, 1);
	g_assert_cmpuint(summary.nb_jobs_killed, ==, 1);
	g_assert_cmpfloat(summary.makespan_s, ==, 15);
	g_assert_cmpfloat(summary.mean_waiting_time_s, ==, 1.75);
	g_assert_cmpfloat(summary.mean_bounded_slowdown_10, ==, (1 + 1.35) / 2);
	g_assert_cmpfloat_with_epsilon(summary.utilization, 20.0 / 30, 1e-12);
	g_assert_true(replay_write_csv(&setup, &result, path, &error));
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	g_assert_true(g_str_has_prefix(lines[0], "job_id,submission_time,requested_number_of_"));
	g_assert_cmpstr(
		lines[1], ==,
		"7,2,2,10,1,COMPLETED_SUCCESSFULLY,2,5,7,0,5,1.000000,1.000000,1.000000,,,");
	g_assert_cmpstr(lines[2], ==,
			"9,3.5,1,10,0,COMPLETED_WALLTIME_REACHED,7,10,17,3.5,13.5,1.350000,"
			"1.350000,1.000000,,,");
	g_assert_false(replay_write_csv(&setup, &result, folder, &error));
	g_assert_nonnull(error);
	replay_finish(&result);
	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/*
 * Job 7 executes from 2 to 7 s with 100 W, job 9 from 7 s until it is killed at 17 s with 30 W: the
 * limit of energy is used up between two changes, at one, or never.
 */
static void test_power(void)
{
	static const struct {
		double limit_j;
		double reached_s;
		uint64_t within;
	} cases[] = {
		{499, 4.99, 0},           {500, 5, 1}, {650, 10, 1}, {800, (double)INFINITY, 2},
		{0, (double)INFINITY, 2},
	};
	struct swf_job jobs[] = {
		{.id = 7, .submit_s = 2, .run_s = 5, .estimate_s = 10, .procs = 2, .power_w = 100},
		{.id = 9, .submit_s = 3, .run_s = 20, .estimate_s = 10, .procs = 1, .power_w = 30},
		{.id = 11, .submit_s = 3, .run_s = 4, .estimate_s = 4, .procs = 1},
	};
	const struct swf_trace trace = {.jobs_count = 3,
					.jobs = jobs,
					.procs = 2,
					.power_field = 19};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct replay_setup setup = {.trace = &trace,
						   .procs = 2,
						   .policy = replay_policy_find("fcfs"),
						   .energy_limit_j = cases[i].limit_j};
		struct replay_result result;
		struct replay_summary summary;
		g_autoptr(json_t) object = NULL;

		replay_run(&setup, &result);
		replay_summarize(&setup, &result, &summary);
		object = replay_summary_json(&setup, &summary);
		g_assert_cmpfloat(summary.consumed_j, ==, 800);
		g_assert_cmpfloat(summary.max_power_w, ==, 100);
		g_assert_cmpfloat(summary.mean_power_w, ==, 800.0 / 15);
		g_assert_cmpuint(summary.without_power, ==, 1);
		/* Job 11 ends at 11 s. */
		g_assert_cmpuint(summary.within_limit, ==,
				 cases[i].within + (cases[i].reached_s >= 9));
		if (isinf(cases[i].reached_s))
			g_assert_true(isinf(summary.limit_reached_s));
		else
			g_assert_cmpfloat_with_epsilon(summary.limit_reached_s, cases[i].reached_s,
						       1e-9);
		g_assert_cmpint(json_is_null(json_object_get(object, "nb_jobs_within_energy")), ==,
				cases[i].limit_j == 0);
		g_assert_cmpint(json_is_null(json_object_get(object, "energy_limit_reached")), ==,
				isinf(cases[i].reached_s));
		replay_finish(&result);
	}
}

/* Max UPE goes by the joules of a job; without its power, by the mean of a processor. */
static void test_registry_power(void)
{
	struct swf_job jobs[] = {
		{.id = 1, .run_s = 10, .estimate_s = 10, .procs = 2, .power_w = 300},
		{.id = 2, .submit_s = 1, .run_s = 10, .estimate_s = 10, .procs = 2, .power_w = 500},
		{.id = 3, .submit_s = 1, .run_s = 10, .estimate_s = 10, .procs = 2},
		{.id = 4, .submit_s = 1, .run_s = 10, .estimate_s = 10, .procs = 2, .power_w = 100},
	};
	static const double starts_s[] = {0, 30, 20, 10};
	const struct swf_trace trace = {.jobs_count = 4,
					.jobs = jobs,
					.procs = 2,
					.power_field = 19};
	char *wrong = NULL;
	struct replay_policy *policy = replay_registry_new("max-upe", &wrong);
	const struct replay_setup setup = {.trace = &trace, .procs = 2, .policy = policy};
	struct replay_result result;

	g_assert_null(wrong);
	replay_run(&setup, &result);
	for (size_t i = 0; i < G_N_ELEMENTS(starts_s); i++)
		g_assert_cmpfloat(result.start_s[i], ==, starts_s[i]);
	replay_finish(&result);
	replay_registry_free(policy);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *what;
		GTestDataFunc test;
	} tests[] = {
		{"starts every job of random traces when a plain replay does", test_random},
		{"does so on a synthetic trace", test_synthetic},
		{"does so on KTH-SP2", test_kth},
	};
	static const char *const registered[] = {"fcfs",   "sjf",      "saf",     "wfp3",
						 "unicef", "sjf+easy", "f1+easy", "wfp3+easy"};
	uint32_t count;
	const struct replay_policy *const *policies = replay_policies(&count);

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/replay/a case worked out by hand", test_by_hand);
	g_test_add_func("/replay/a promise holds when another job ends early", test_promise);
	g_test_add_func("/replay/promises that slip behind an overrun are counted", test_overrun);
	g_test_add_func("/replay/summary and rows", test_report);
	g_test_add_func("/replay/registry: the latest and longest jobs start", test_late);
	g_test_add_func("/replay/a job that never started is named", test_never_started);
	g_test_add_func("/replay/registry: all jobs start under every policy", test_all_registered);
	g_test_add_func("/replay/the power of jobs is followed", test_power);
	g_test_add_func("/replay/registry: joules are those of the trace", test_registry_power);
	g_test_add_func("/replay/registry: what cannot be replayed is refused",
			test_registry_refuses);
	for (size_t i = 0; i < G_N_ELEMENTS(registered); i++) {
		g_autofree char *path = g_strdup_printf(
			"/replay/registry: %s starts jobs as in a replay of its own",
			registered[i]);

		g_test_add_data_func(path, registered[i], test_registry);
	}
	for (uint32_t i = 0; i < count; i++)
		for (size_t t = 0; t < G_N_ELEMENTS(tests); t++) {
			const char *name = replay_policy_name(policies[i]);
			g_autofree char *path =
				g_strdup_printf("/replay/%s %s", name, tests[t].what);

			g_test_add_data_func(path, name, tests[t].test);
		}
	return g_test_run();
}
