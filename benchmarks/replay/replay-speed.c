/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast `virtbed replay` is on a trace: reading, simulating and writing rows, under one policy,
 * and the whole process, beside the plain replay of the unit tests
 * (tests/oracle/replay_oracle.h). Both must start every job at the same time.
 *
 *   replay-speed TRACE [--policy NAME] [--procs P] [--repeat N] [--baseline-jobs N]
 *
 * prints one JSON document; exit status 1 when start times differ, 2 for bad usage or input. Rates
 * are jobs per second, each of the fastest of N.
 */
#include <math.h>
#include <stdio.h>

#include "benchmarks/host.h"
#include "common/clock.h"
#include "common/json.h"
#include "controller/replay/replay_report.h"
#include "tests/oracle/replay_oracle.h"

struct options {
	char *policy;
	gint procs;
	gint repeat;
	gint baseline_jobs;
};

/* Seconds that the parts of a pass took. */
struct pass {
	double read_s;
	double simulate_s;
	double write_s;
	double process_s; /* from the start of the program to its end */
	uint32_t jobs;
	uint64_t passes;
};

/* The whole program, seconds; or negative with `error` set. VIRTBED is its path. */
static double time_process(const char *path, const struct options *options, GError **error)
{
	g_autofree char *policy = g_strconcat("--policy=", options->policy, NULL);
	g_autofree char *procs =
		options->procs > 0 ? g_strdup_printf("--procs=%d", options->procs) : NULL;
	const char *const command[] = {VIRTBED,           "replay", path, policy,
				       "--out=/dev/null", procs,    NULL};
	const int64_t begun_ns = clock_now_ns();
	int status;

	if (!g_spawn_sync(NULL, (char **)command, NULL,
			  G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, NULL,
			  NULL, &status, error) ||
	    !g_spawn_check_wait_status(status, error))
		return -1;
	return clock_elapsed_s(begun_ns, clock_now_ns());
}

/* Its parts, as the program makes them. Returns false with `error` set. */
static bool time_pass(const char *path, const struct options *options,
		      const struct replay_policy *policy, struct pass *ret_pass, GError **error)
{
	const struct swf_filter filter = {.procs = (uint32_t)options->procs};
	const int64_t begun_ns = clock_now_ns();
	g_autoptr(swf_trace_t) trace = swf_read(path, &filter, error);
	const int64_t read_ns = clock_now_ns();
	struct replay_setup setup = {.trace = trace, .policy = policy};
	struct replay_result result;
	bool written;

	if (!trace)
		return false;
	setup.procs = trace->procs;
	replay_run(&setup, &result);

	const int64_t simulated_ns = clock_now_ns();

	written = replay_write_csv(&setup, &result, "/dev/null", error);
	*ret_pass = (struct pass){
		.read_s = clock_elapsed_s(begun_ns, read_ns),
		.simulate_s = clock_elapsed_s(read_ns, simulated_ns),
		.write_s = clock_elapsed_s(simulated_ns, clock_now_ns()),
		.jobs = trace->jobs_count,
		.passes = result.passes,
	};
	replay_finish(&result);
	return written;
}

/* What the same jobs took, seconds. */
struct comparison {
	uint32_t jobs;
	double ours_s;
	double plain_s;
	bool equal; /* in all start times */
};

/* Replays jobs by both. Returns false with `error` set. */
static bool compare(const char *path, const struct options *options,
		    const struct replay_policy *policy, struct comparison *ret_comparison,
		    GError **error)
{
	const struct swf_filter filter = {.procs = (uint32_t)options->procs,
					  .first = (uint32_t)options->baseline_jobs};
	g_autoptr(swf_trace_t) trace = swf_read(path, &filter, error);
	struct comparison comparison = {.equal = true};
	struct replay_setup setup = {.trace = trace, .policy = policy};
	struct replay_result result;

	if (!trace)
		return false;
	setup.procs = trace->procs;

	const struct replay_oracle plain = {.trace = trace,
					    .procs = trace->procs,
					    .policy = replay_policy_name(policy)};
	const int64_t begun_ns = clock_now_ns();
	g_autofree struct replay_oracle_fate *fates = replay_oracle_run(&plain);
	const int64_t plain_ns = clock_now_ns();

	replay_run(&setup, &result);
	comparison.jobs = trace->jobs_count;
	comparison.ours_s = clock_elapsed_s(plain_ns, clock_now_ns());
	comparison.plain_s = clock_elapsed_s(begun_ns, plain_ns);
	for (uint32_t i = 0; i < trace->jobs_count; i++)
		comparison.equal &= fates[i].start_s == result.start_s[i];
	replay_finish(&result);
	*ret_comparison = comparison;
	return true;
}

/* The fastest of each of the parts. */
static void keep_best(struct pass *best, const struct pass *pass)
{
	best->read_s = fmin(best->read_s, pass->read_s);
	best->simulate_s = fmin(best->simulate_s, pass->simulate_s);
	best->write_s = fmin(best->write_s, pass->write_s);
	best->process_s = fmin(best->process_s, pass->process_s);
}

static json_t *to_json(const struct pass *best, const struct comparison *comparison)
{
	return json_pack("{s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:f, s:f}", "jobs",
			 (int)best->jobs, "passes", (json_int_t)best->passes, "read_s",
			 best->read_s, "simulate_s", best->simulate_s, "write_s", best->write_s,
			 "process_s", best->process_s, "simulated_jobs_per_s",
			 best->jobs / best->simulate_s, "jobs_per_s", best->jobs / best->process_s,
			 "baseline_jobs", (int)comparison->jobs, "baseline_jobs_per_s",
			 comparison->jobs / comparison->plain_s, "speedup",
			 comparison->plain_s / comparison->ours_s);
}

static int measure(const char *path, const struct options *options)
{
	const struct replay_policy *policy = replay_policy_find(options->policy);
	const double load = host_load();
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	struct pass best = {0};
	struct comparison comparison = {0};

	for (gint i = 0; !error && i < options->repeat; i++) {
		struct pass pass = {0};

		if (time_pass(path, options, policy, &pass, &error))
			pass.process_s = time_process(path, options, &error);
		if (i == 0)
			best = pass;
		keep_best(&best, &pass);
	}
	if (!error)
		compare(path, options, policy, &comparison, &error);
	if (error) {
		fprintf(stderr, "replay-speed: %s\n", error->message);
		return 2;
	}
	if (!comparison.equal) {
		fprintf(stderr, "replay-speed: start times differ from the plain replay's\n");
		return 1;
	}
	document = to_json(&best, &comparison);
	json_object_set_new(document, "policy", json_string(options->policy));
	json_object_set_new(document, "host", host_json(load));
	text = json_pretty(document);
	puts(text);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = {.repeat = 5};
	const GOptionEntry entries[] = {
		{"policy", 0, 0, G_OPTION_ARG_STRING, &options.policy, "(easy)", "NAME"},
		{"procs", 0, 0, G_OPTION_ARG_INT, &options.procs, "(the trace's)", "P"},
		{"repeat", 0, 0, G_OPTION_ARG_INT, &options.repeat, "Passes (5)", "N"},
		{"baseline-jobs", 0, 0, G_OPTION_ARG_INT, &options.baseline_jobs,
		 "Only the first N by the plain replay (all)", "N"},
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(GOptionContext) context = g_option_context_new("TRACE - time replays");
	g_autoptr(GError) error = NULL;
	const char *wrong = NULL;

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error))
		wrong = error->message;
	else if (argc != 2)
		wrong = "give one trace";
	else if (options.procs < 0 || options.repeat < 1 || options.baseline_jobs < 0)
		wrong = "a number is too small";
	if (!options.policy)
		options.policy = g_strdup("easy");
	if (!wrong && !replay_policy_find(options.policy))
		wrong = "unknown policy";
	if (!wrong)
		return measure(argv[1], &options);
	fprintf(stderr, "replay-speed: %s\n", wrong);
	return 2;
}
