/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces, plain and gzipped; those that are good and short are replayed. */
#include <math.h>

#include "controller/replay/replay.h"
#include "controller/replay/trace_read.h"
#include "tests/fuzz/fuzz.h"

/* Longer ones take time and show nothing more. */
#define REPLAYED_MAX 40

static void check_trace(const struct swf_trace *trace, const struct swf_filter *filter)
{
	fuzz_check(trace->procs > 0);
	fuzz_check(trace->jobs_count + trace->skipped + trace->refused + trace->parts ==
		   trace->lines);
	fuzz_check(filter->first == 0 || trace->jobs_count <= filter->first);
	for (uint32_t i = 0; i < trace->jobs_count; i++) {
		const struct swf_job *job = &trace->jobs[i];

		fuzz_check(job->submit_s >= 0 && job->run_s > 0 && job->estimate_s > 0);
		fuzz_check(isfinite(job->submit_s + job->run_s + job->estimate_s));
		fuzz_check(job->procs > 0 && job->procs <= trace->procs);
		fuzz_check(job->memory_kb >= 0 && isfinite(job->memory_kb));
		fuzz_check(job->power_w >= 0 && job->power_w <= SWF_EXACT_MAX);
		fuzz_check(i == 0 || trace->jobs[i - 1].submit_s <= job->submit_s);
	}
}

static void replay(const struct swf_trace *trace, const struct replay_policy *policy,
		   enum replay_estimates estimates)
{
	const struct replay_setup setup = {
		.trace = trace,
		.procs = trace->procs,
		.policy = policy,
		.estimates = estimates,
		.overrun = true,
	};
	struct replay_result result;

	replay_run(&setup, &result);
	fuzz_check(result.jobs_count == trace->jobs_count);
	for (uint32_t i = 0; i < result.jobs_count; i++)
		fuzz_check(result.start_s[i] >= trace->jobs[i].submit_s &&
			   result.end_s[i] >= result.start_s[i]);
	replay_finish(&result);
}

static void read_trace(const char *path, const struct swf_filter *filter)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = trace_read(path, filter, &error);
	uint32_t count;
	const struct replay_policy *const *policies = replay_policies(&count);

	fuzz_check_error(trace, error);
	if (!trace)
		return;
	check_trace(trace, filter);
	if (trace->jobs_count == 0 || trace->jobs_count > REPLAYED_MAX)
		return;
	for (uint32_t i = 0; i < count; i++) {
		replay(trace, policies[i], REPLAY_ESTIMATES_USER);
		replay(trace, policies[i], REPLAY_ESTIMATES_PERFECT);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	const struct swf_filter all = {0};
	const struct swf_filter few = {.procs = 64, .first = 3};

	read_trace(path, &all);
	read_trace(path, &few);
	return 0;
}
