/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/replay/replay_batsim.h"
#include "controller/replay/trace_read.h"

/* The texts of both files of a schedule. */
struct files {
	char *dir;
	char *jobs;
	char *sums;
};

static void write_files(const struct batsim_schedule *schedule, struct files *ret_files)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *jobs = NULL;
	g_autofree char *sums = NULL;
	g_autofree char *below = NULL;

	ret_files->dir = g_dir_make_tmp("virtbed-batsim-XXXXXX", NULL);
	below = g_build_filename(ret_files->dir, "made", NULL);
	g_assert_true(batsim_schedule_write(schedule, below, &error));
	g_assert_no_error(error);
	jobs = g_build_filename(below, "jobs.csv", NULL);
	sums = g_build_filename(below, "schedule.json", NULL);
	g_assert_true(g_file_get_contents(jobs, &ret_files->jobs, NULL, NULL));
	g_assert_true(g_file_get_contents(sums, &ret_files->sums, NULL, NULL));
	g_unlink(jobs);
	g_unlink(sums);
	g_rmdir(below);
	g_rmdir(ret_files->dir);
}

static void free_files(struct files *files)
{
	g_free(files->dir);
	g_free(files->jobs);
	g_free(files->sums);
}

/*
 * Four processors. Jobs 1 and 2 take two and one of them; 3 needs three, 4 and 5 take what is free
 * in pieces.
 */
static void test_replay(void)
{
	struct swf_job jobs[] = {
		{1, 0, 10, 10, 2, 0}, {2, 0, 4, 10, 1, 0}, {3, 1, 5, 5, 1, 0},
		{4, 2, 8, 6, 2, 0},   {5, 20, 1, 1, 4, 0},
	};
	const struct swf_trace trace = {.jobs = jobs,
					.jobs_count = G_N_ELEMENTS(jobs),
					.procs = 4,
					.refused = 1};
	const struct replay_setup setup = {.trace = &trace,
					   .procs = 4,
					   .policy = replay_policy_find("fcfs")};
	struct replay_result result;
	struct files files;
	g_autoptr(batsim_schedule_t) schedule = NULL;
	g_autoptr(json_t) sums = NULL;

	replay_run(&setup, &result);
	schedule = replay_batsim(&setup, &result, "virtbed test");
	replay_finish(&result);
	write_files(schedule, &files);
	g_assert_cmpstr(
		files.jobs, ==,
		"job_id,workload_name,profile,submission_time,requested_number_of_resources,"
		"requested_time,success,final_state,starting_time,execution_time,finish_time,"
		"waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata\n"
		"1,w0,delay-10,0,2,10,1,COMPLETED_SUCCESSFULLY,0,10,10,0,10,1,0-1,,\n"
		"2,w0,delay-4,0,1,10,1,COMPLETED_SUCCESSFULLY,0,4,4,0,4,1,2,,\n"
		"3,w0,delay-5,1,1,5,1,COMPLETED_SUCCESSFULLY,1,5,6,0,5,1,3,,\n"
		"4,w0,delay-8,2,2,6,0,COMPLETED_WALLTIME_REACHED,6,6,12,4,10,1.6666666666666667,"
		"2-3,,\n"
		"5,w0,delay-1,20,4,1,1,COMPLETED_SUCCESSFULLY,20,1,21,0,1,1,0-3,,\n");
	sums = json_loads(files.sums, 0, NULL);
	g_assert_cmpfloat(json_number_value(json_object_get(sums, "makespan")), ==, 21);
	g_assert_cmpint(json_integer_value(json_object_get(sums, "nb_jobs")), ==, 6);
	g_assert_cmpint(json_integer_value(json_object_get(sums, "nb_jobs_rejected")), ==, 1);
	g_assert_cmpint(json_integer_value(json_object_get(sums, "nb_jobs_killed")), ==, 1);
	g_assert_cmpint(json_integer_value(json_object_get(sums, "nb_jobs_success")), ==, 4);
	g_assert_cmpfloat(json_number_value(json_object_get(sums, "time_computing")), ==, 45);
	g_assert_cmpfloat(json_number_value(json_object_get(sums, "time_idle")), ==, 39);
	g_assert_true(json_is_null(json_object_get(sums, "consumed_joules")));
	free_files(&files);
}

/* Free processors are joined again, and a job may get several pieces. */
static void test_pieces(void)
{
	struct swf_job jobs[] = {
		{1, 0, 9, 9, 1, 0}, {2, 0, 1, 1, 2, 0}, {3, 0, 9, 9, 1, 0},
		{4, 0, 1, 1, 1, 0}, {5, 2, 3, 3, 3, 0}, {6, 6, 1, 1, 3, 0},
	};
	const struct swf_trace trace = {.jobs = jobs, .jobs_count = G_N_ELEMENTS(jobs), .procs = 5};
	const struct replay_setup setup = {.trace = &trace,
					   .procs = 5,
					   .policy = replay_policy_find("fcfs")};
	struct replay_result result;
	struct files files;
	g_autoptr(batsim_schedule_t) schedule = NULL;

	replay_run(&setup, &result);
	schedule = replay_batsim(&setup, &result, "virtbed test");
	replay_finish(&result);
	write_files(schedule, &files);
	g_assert_nonnull(strstr(files.jobs, "\n5,w0,delay-3,2,3,3,1,COMPLETED_SUCCESSFULLY,"
					    "2,3,5,0,3,1,1-2 4,,\n"));
	g_assert_nonnull(strstr(files.jobs, "\n6,w0,delay-1,6,3,1,1,COMPLETED_SUCCESSFULLY,"
					    "6,1,7,0,1,1,1-2 4,,\n"));
	free_files(&files);
}

/* What is not known is an empty field, and a job without a start has no sums. */
static void test_states(void)
{
	static const struct batsim_job jobs[] = {
		{1, "IS.2", 5, -1, (double)NAN, BATSIM_REJECTED, (double)NAN, (double)NAN, NULL, 0},
		{2, "CG.4", 6, 4, (double)NAN, BATSIM_RUNNING, 7, (double)NAN, "0-3", 2.5},
	};
	g_autoptr(batsim_schedule_t) schedule = batsim_schedule_new("run-1", 8, "virtbed test");
	g_autoptr(json_t) sums = NULL;
	struct files files;

	for (size_t i = 0; i < G_N_ELEMENTS(jobs); i++)
		batsim_schedule_add(schedule, &jobs[i]);
	write_files(schedule, &files);
	g_assert_nonnull(strstr(files.jobs, "\n1,run-1,IS.2,5,,,0,REJECTED,,,,,,,,0,\n"));
	g_assert_nonnull(strstr(files.jobs, "\n2,run-1,CG.4,6,4,,0,RUNNING,7,,,1,,,0-3,2.5,\n"));
	sums = json_loads(files.sums, 0, NULL);
	g_assert_cmpint(json_integer_value(json_object_get(sums, "nb_jobs_finished")), ==, 0);
	g_assert_cmpfloat(json_number_value(json_object_get(sums, "makespan")), ==, 0);
	free_files(&files);
}

/* The trace of a workload of that text, or NULL with `error`. */
static struct swf_trace *read_text(const char *text, const struct swf_filter *filter,
				   GError **error)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-batsim-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "w.json", NULL);
	struct swf_trace *trace;

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	trace = trace_read(path, filter, error);
	g_unlink(path);
	g_rmdir(dir);
	return trace;
}

/* Both generations of names, a sequence, a walltime and jobs that cannot be replayed. */
static void test_workload(void)
{
	static const struct swf_job expected[] = {{7, 1, 20.25, 20.25, 2, 0},
						  {2, 5, 12, 30, 1, 0},
						  {3, 5, 4, 4, 4, 0}};
	static const char text[] =
		"\n {\"nb_res\": 4, \"jobs\": ["
		"{\"id\": \"2\", \"subtime\": 5, \"res\": 1, \"profile\": \"s\", \"walltime\": 30},"
		"{\"id\": 7, \"subtime\": 1, \"res\": 2, \"profile\": \"d\", \"walltime\": -1},"
		"{\"id\": 3, \"subtime\": 5.0, \"res\": 4, \"profile\": \"old\"},"
		"{\"id\": 4, \"subtime\": 6, \"res\": 5, \"profile\": \"d\"},"
		"{\"id\": 5, \"subtime\": 6, \"res\": 1, \"profile\": \"none\"}],"
		"\"profiles\": {\"d\": {\"type\": \"DelayProfile\", \"delay\": 20.25},"
		"\"old\": {\"type\": \"delay\", \"delay\": 4}, \"none\": {\"type\": \"delay\", \"delay\": 0},"
		"\"s\": {\"type\": \"SequentialCompositionProfile\", \"repeat\": 3, \"seq\": [\"old\"]}}}";
	const struct swf_filter all = {.list = true};
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = read_text(text, &all, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trace->procs, ==, 4);
	g_assert_cmpuint(trace->unsorted, ==, 1);
	g_assert_cmpuint(trace->refused, ==, 1);
	g_assert_cmpuint(trace->skipped, ==, 1);
	g_assert_cmpuint(trace->left_out_count, ==, 2);
	g_assert_cmpuint(trace->left_out[1].line, ==, 5);
	g_assert_cmpuint(trace->jobs_count, ==, G_N_ELEMENTS(expected));
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_assert_cmpint(trace->jobs[i].id, ==, expected[i].id);
		g_assert_cmpfloat(trace->jobs[i].submit_s, ==, expected[i].submit_s);
		g_assert_cmpfloat(trace->jobs[i].run_s, ==, expected[i].run_s);
		g_assert_cmpfloat(trace->jobs[i].estimate_s, ==, expected[i].estimate_s);
		g_assert_cmpuint(trace->jobs[i].procs, ==, expected[i].procs);
	}
}

static void test_bad_workloads(void)
{
#define JOBS(fields) "{\"nb_res\": 4, \"jobs\": [{\"id\": \"w0!1\", " fields "}], \"profiles\": "
#define DELAY "{\"d\": {\"type\": \"delay\", \"delay\": 4}}}"
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{"{\"jobs\": 1}", "a workload has jobs, a list"},
		{"{\"jobs\": [", "w.json"},
		{"{\"jobs\": [], \"profiles\": {}}", "nb_res does not say"},
		{JOBS("\"subtime\": -1, \"res\": 1, \"profile\": \"d\"") DELAY,
		 "jobs[0]: subtime is no time"},
		{JOBS("\"subtime\": 1, \"res\": 0, \"profile\": \"d\"") DELAY,
		 "jobs[0]: res is no number"},
		{JOBS("\"subtime\": 1, \"res\": 1.5, \"profile\": \"d\"") DELAY,
		 "res is no number"},
		{JOBS("\"subtime\": 1, \"res\": 1, \"profile\": \"e\"") DELAY,
		 "there is no profile \"e\""},
		{JOBS("\"subtime\": 1, \"res\": 1, \"profile\": \"d\", \"walltime\": \"1\"") DELAY,
		 "walltime is no time"},
		{JOBS("\"subtime\": 1, \"res\": 1, \"profile\": \"p\"") "{\"p\": {\"type\": "
									"\"parallel_homogeneous\", \"cpu\": 1e9}}}",
		 "profile \"p\" is of type \"parallel_homogeneous\", whose run time depends on a "
		 "platform"},
		{JOBS("\"subtime\": 1, \"res\": 1, \"profile\": \"p\"") "{\"p\": {\"type\": "
									"\"composed\", \"seq\": [\"p\"]}}}",
		 "sequences in more than"},
	};
	const struct swf_filter all = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(swf_trace_t) trace = read_text(cases[i].text, &all, &error);

		g_assert_null(trace);
		g_assert_true(error && error->domain == SWF_ERROR);
		if (!strstr(error->message, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", error->message, cases[i].says);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/batsim/a replay is a schedule with processors", test_replay);
	g_test_add_func("/batsim/processors may be in pieces", test_pieces);
	g_test_add_func("/batsim/what is not known is empty", test_states);
	g_test_add_func("/batsim/a workload is a trace", test_workload);
	g_test_add_func("/batsim/a bad workload is refused with its job", test_bad_workloads);
	return g_test_run();
}
