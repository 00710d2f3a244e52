/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Table V of RLScheduler (Zhang et al., SC 2020), as the README of its program prints it: the mean
 * bounded slowdown (10 s) over ten windows of 1,024 jobs each, without and with backfilling.
 *
 * In that program a job that waits has the start time -1, so that WFP3 and UNICEF find w = -1 - s,
 * where s is the time of the submission, instead of the time waited. Its two columns are compared
 * with orders that do the same.
 */
#include <glib.h>
#include <math.h>

#include "controller/replay/replay_report.h"
#include "controller/replay/replay_sim.h"

#define WINDOWS 10
#define WINDOW_JOBS 1024

/* The first jobs of the windows, counted from 0. */
static const uint32_t windows[WINDOWS] = {1981, 2756, 4299, 8850, 3316,
					  2714, 5228, 7762, 4022, 7085};

static double wfp3_unstarted(const struct job_order_facts *facts)
{
	struct job_order_facts unstarted = *facts;

	unstarted.waited_s = -1 - facts->submitted_s;
	return job_order_wfp3.key(&unstarted);
}

static double unicef_unstarted(const struct job_order_facts *facts)
{
	struct job_order_facts unstarted = *facts;

	unstarted.waited_s = -1 - facts->submitted_s;
	return job_order_unicef.key(&unstarted);
}

static const struct job_order wfp3 = {.key = wfp3_unstarted};
static const struct job_order unicef = {.key = unicef_unstarted};

/* A trace of the table. */
struct trace {
	const char *file;
	/* Records at the beginning of the file that are not in the version of the table. */
	uint32_t before;
	double plain[5]; /* FCFS, WFP3, UNICEF, SJF, F1 */
	double backfilling[5];
};

static const struct trace hpc2n = {
	"HPC2N-2002-2.1-cln.swf.gz",
	5, /* submitted days before the rest; the table has version 2.2 */
	{297.18, 426.99, 609.77, 157.71, 118.01},
	{127.38, 97.39, 175.12, 122.04, 71.95},
};

static const struct trace lublin = {
	"lublin_256.swf",
	0,
	{7273.77, 19753.53, 22274.74, 277.35, 258.37},
	{235.82, 133.87, 307.23, 73.31, 75.07},
};

/* The mean over the windows. */
static double mean_of(const char *path, const struct trace *trace,
		      const struct replay_policy *policy)
{
	double sum = 0;

	for (uint32_t i = 0; i < WINDOWS; i++) {
		const struct swf_filter filter = {.skip = windows[i] + trace->before,
						  .first = WINDOW_JOBS};
		g_autoptr(GError) error = NULL;
		g_autoptr(swf_trace_t) jobs = swf_read(path, &filter, &error);
		struct replay_summary summary;
		struct replay_result result;

		g_assert_no_error(error);
		g_assert_cmpuint(jobs->jobs_count, ==, WINDOW_JOBS);

		const struct replay_setup setup = {
			.trace = jobs,
			.procs = jobs->procs,
			.policy = policy,
			.overrun = true,
			.rlscheduler = true,
		};

		replay_run(&setup, &result);
		replay_summarize(&setup, &result, &summary);
		replay_finish(&result);
		sum += summary.mean_bounded_slowdown_10;
	}
	return sum / WINDOWS;
}

static void test_table(const void *data)
{
	static const struct {
		const char *names[2]; /* without and with backfilling */
		const struct job_order *order;
	} columns[] = {
		{{"fcfs", "easy"}, NULL},
		{{"wfp3", "wfp3+easy"}, &wfp3},
		{{"unicef", "unicef+easy"}, &unicef},
		{{"sjf", "sjf+easy"}, NULL},
		{{"f1", "f1+easy"}, NULL},
	};
	const struct trace *trace = data;
	const char *folder = g_getenv("VIRTBED_TRACES");
	g_autofree char *path = g_build_filename(folder ? folder : "", trace->file, NULL);

	if (!folder || !g_file_test(path, G_FILE_TEST_EXISTS)) {
		g_autofree char *why = g_strdup_printf("VIRTBED_TRACES names no folder with %s "
						       "(docs/how-to/replay.md)",
						       trace->file);

		g_test_skip(why);
		return;
	}
	for (size_t i = 0; i < G_N_ELEMENTS(columns); i++)
		for (int backfills = 0; backfills < 2; backfills++) {
			struct replay_policy policy =
				*replay_policy_find(columns[i].names[backfills]);
			const double printed = backfills ? trace->backfilling[i] : trace->plain[i];
			double mean;

			if (columns[i].order)
				policy.order = columns[i].order;
			mean = mean_of(path, trace, &policy);
			g_test_message("%s: %.5f, printed %.2f", policy.name, mean, printed);
			/* The last printed digit. */
			g_assert_cmpfloat(fabs(mean - printed), <=, 0.005 + 1e-5);
		}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/rlscheduler/the columns of HPC2N are those of Table V", &hpc2n,
			     test_table);
	g_test_add_data_func("/rlscheduler/the columns of Lublin-1 are those of Table V", &lublin,
			     test_table);
	return g_test_run();
}
