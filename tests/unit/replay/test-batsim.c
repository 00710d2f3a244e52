/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/replay/replay_batsim.h"

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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/batsim/a replay is a schedule with processors", test_replay);
	g_test_add_func("/batsim/processors may be in pieces", test_pieces);
	g_test_add_func("/batsim/what is not known is empty", test_states);
	return g_test_run();
}
