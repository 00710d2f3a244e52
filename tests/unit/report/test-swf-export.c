/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs as traces: what our own reader makes of them. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "common/read_number.h"
#include "controller/replay/replay.h"
#include "controller/replay/swf.h"
#include "controller/report/swf_export.h"
#include "tests/unit/report/fixture.h"

#define TASKS 40

static swf_trace_t *read_back(const char *dir, const char *text)
{
	const struct swf_filter filter = {0};
	g_autofree char *path = g_build_filename(dir, "run.swf", NULL);
	g_autoptr(GError) error = NULL;
	swf_trace_t *trace;

	g_assert_true(g_file_set_contents(path, text, -1, &error));
	trace = swf_read(path, &filter, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return trace;
}

/* The job of a task, if the task ran. */
static const struct swf_job *find(const struct swf_trace *trace, uint32_t task)
{
	for (uint32_t i = 0; i < trace->jobs_count; i++)
		if (trace->jobs[i].id == (int64_t)task + 1)
			return &trace->jobs[i];
	return NULL;
}

static void check_jobs(const struct swf_trace *trace, GPtrArray *tasks)
{
	uint32_t ran = 0;

	for (guint i = 0; i < tasks->len; i++) {
		const struct store_task *task = tasks->pdata[i];
		const struct swf_job *job = find(trace, task->task);

		g_assert_true((job != NULL) == (task->nodes && isfinite(task->started_s) &&
						isfinite(task->ended_s)));
		if (!job)
			continue;
		ran++;
		g_assert_cmpfloat(job->submit_s, ==, round(task->arrival_s));
		g_assert_cmpfloat(fabs(job->run_s - (task->ended_s - task->started_s)), <=, 1);
		g_assert_cmpfloat(job->estimate_s, ==, round(task->etc_s));
		g_assert_cmpuint(job->procs, ==, strchr(task->nodes, ',') ? 2 : 1);
	}
	g_assert_cmpuint(ran, ==, trace->jobs_count);
	g_assert_cmpuint(ran, >, 0);
}

static void test_read_back(void)
{
	const struct fixture fixture = {
		.measured = true,
		.runs = 1,
		.tasks = TASKS,
		.ratio = 1,
		.seed = 1,
		.cells = fixture_paper,
	};
	char *dir = fixture_new(&fixture);
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = summary_load(dir, &error);

	g_assert_no_error(error);
	g_assert_null(swf_export_run(summary, 0)); /* which one? */
	g_assert_null(swf_export_run(summary, 10000));
	for (guint i = 0; i < summary->runs->len; i++) {
		const struct store_run *run = summary->runs->pdata[i];
		g_autofree char *text = swf_export(summary, run, &error);
		g_autoptr(GPtrArray) tasks = store_tasks(summary->store, run->run, NULL);

		g_assert_no_error(error);
		g_assert_true(swf_export_run(summary, run->run) == run);
		g_assert_true(g_str_has_prefix(text, "; Version: 2.2\n"));

		g_autoptr(swf_trace_t) trace = read_back(dir, text);

		g_assert_cmpuint(trace->lines, ==, TASKS);
		g_assert_cmpuint(trace->refused, ==, 0);
		g_assert_cmpuint(trace->unsorted, ==, 0);
		check_jobs(trace, tasks);
	}
	g_clear_pointer(&summary, summary_free);
	fixture_remove(dir);
}

/* A store of tasks of all kinds, to the byte. */
static void test_text(void)
{
	const struct fixture_cell cells[] = {{"easy", 1, 0, 0, 1}, {NULL, 0, 0, 0, 0}};
	const struct fixture fixture = {.runs = 1, .tasks = 0, .seed = 1, .cells = cells};
	const struct store_task tasks[] = {
		{.run = 1,
		 .task = 0,
		 .type = "IS.2",
		 .arrival_s = 1.4,
		 .state = "completed",
		 .cluster = "c1",
		 .nodes = "0,1",
		 .attempts = 1,
		 .started_s = 3.6,
		 .ended_s = 20.2,
		 .etc_s = 15.5},
		{.run = 1,
		 .task = 1,
		 .type = "EP.1",
		 .arrival_s = 2.5,
		 .state = "failed",
		 .cluster = "c2",
		 .nodes = "0",
		 .attempts = 1,
		 .started_s = 4,
		 .ended_s = 4.2,
		 .etc_s = NAN},
		{.run = 1,
		 .task = 2,
		 .type = "IS.2",
		 .arrival_s = 9,
		 .state = "dropped",
		 .started_s = NAN,
		 .ended_s = 11,
		 .etc_s = NAN},
	};
	char *dir = fixture_new(&fixture);
	g_autoptr(GError) error = NULL;
	struct store *store = store_open(dir, true, &error);

	g_assert_no_error(error);
	for (size_t i = 0; i < G_N_ELEMENTS(tasks); i++)
		g_assert_true(store_put_task(store, &tasks[i], &error));
	store_close(store);

	g_autoptr(summary_t) summary = summary_load(dir, &error);
	g_autofree char *text = swf_export(summary, swf_export_run(summary, 0), &error);

	g_assert_cmpstr(
		text, ==,
		"; Version: 2.2\n"
		"; Computer: virtbed, a testbed of virtual clusters\n"
		"; Conversion: virtbed report --format swf\n"
		"; MaxJobs: 3\n"
		"; MaxRecords: 3\n"
		"; MaxProcs: 3\n"
		"; Note: run 1, simulated, policy easy, at 100 % of the energy\n"
		"; Note: a processor is a node, which one virtual machine fills\n"
		"; Note: requested times are the estimates of where the task ran, and no limits: replay with "
		"--overrun\n"
		"; Note: executable 1 is type IS.2\n"
		"; Note: executable 2 is type EP.1\n"
		"; Partition: 1 is cluster c1\n"
		"; Partition: 2 is cluster c2\n"
		"1 1 3 16 2 -1 -1 2 16 -1 1 -1 -1 1 -1 1 -1 -1\n"
		"2 3 1 1 1 -1 -1 1 -1 -1 0 -1 -1 2 -1 2 -1 -1\n"
		"3 9 -1 -1 -1 -1 -1 -1 -1 -1 5 -1 -1 1 -1 -1 -1 -1\n");
	g_clear_pointer(&summary, summary_free);
	fixture_remove(dir);
}

/* Names that turn the direction of text are shown as what they are. */
static void test_visible(void)
{
	const struct fixture_cell cells[] = {{"ea\u202esy", 1, 0, 0, 1}, {NULL, 0, 0, 0, 0}};
	const struct fixture fixture = {.runs = 1, .tasks = 0, .seed = 1, .cells = cells};
	const struct store_task task = {
		.run = 1,
		.task = 0,
		.type = "I\nS\u2066.2",
		.arrival_s = 1.4,
		.state = "completed",
		.cluster = "c\u202d1",
		.nodes = "0",
		.attempts = 1,
		.started_s = 3.6,
		.ended_s = 20.2,
		.etc_s = 15.5,
	};
	char *dir = fixture_new(&fixture);
	g_autoptr(GError) error = NULL;
	struct store *store = store_open(dir, true, &error);

	g_assert_no_error(error);
	g_assert_true(store_put_task(store, &task, &error));
	store_close(store);

	g_autoptr(summary_t) summary = summary_load(dir, &error);
	g_autofree char *text = swf_export(summary, swf_export_run(summary, 0), &error);

	g_assert_true(g_str_is_ascii(text));
	g_assert_nonnull(strstr(text, ", policy ea\\u202esy, "));
	g_assert_nonnull(strstr(text, "; Note: executable 1 is type I\\nS\\u2066.2\n"));
	g_assert_nonnull(strstr(text, "; Partition: 1 is cluster c\\u202d1\n"));
	g_clear_pointer(&summary, summary_free);
	fixture_remove(dir);
}

/*
 * The trace of the only run of a store of these tasks, suspensions and lost attempts. The caller
 * frees.
 */
static char *export_tasks(const struct store_task *tasks, size_t tasks_count,
			  const struct store_suspension *suspensions, size_t suspensions_count,
			  const struct store_task *lost, size_t lost_count)
{
	const struct fixture_cell cells[] = {{"easy", 1, 0, 0, 1}, {NULL, 0, 0, 0, 0}};
	const struct fixture fixture = {.runs = 1, .tasks = 0, .seed = 1, .cells = cells};
	char *dir = fixture_new(&fixture);
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = NULL;
	struct store *store = store_open(dir, true, &error);
	char *text;

	g_assert_no_error(error);
	for (size_t i = 0; i < tasks_count; i++)
		g_assert_true(store_put_task(store, &tasks[i], &error));
	for (size_t i = 0; i < suspensions_count; i++)
		g_assert_true(store_put_suspension(store, &suspensions[i], &error));
	for (size_t i = 0; i < lost_count; i++)
		g_assert_true(store_put_lost(store, &lost[i], &error));
	store_close(store);
	summary = summary_load(dir, &error);
	text = swf_export(summary, swf_export_run(summary, 0), &error);
	g_assert_no_error(error);
	g_clear_pointer(&summary, summary_free);
	fixture_remove(dir);
	return text;
}

#define RUN_TASK(number)                                                                           \
	.run = 1, .task = number, .type = (char *)"EP.1", .cluster = (char *)"c1",                 \
	.nodes = (char *)"0"
#define SUSPENSION(number, which)                                                                  \
	.run = 1, .task = number, .attempt = which, .cluster = (char *)"c1", .nodes = (char *)"0"

/* Run times are what was executed, and what lost attempts executed is no wait. */
static void test_suspended(void)
{
	static const struct store_task tasks[] = {
		/* suspended twice, once rolled back */
		{RUN_TASK(0), .arrival_s = 0, .state = (char *)"completed", .attempts = 1,
		 .started_s = 2, .ended_s = 102, .etc_s = 41},
		/* suspended when it was killed */
		{RUN_TASK(1), .arrival_s = 1, .state = (char *)"killed", .attempts = 1,
		 .started_s = 2, .ended_s = 60, .etc_s = 30},
		/* lost twice, the first time after a suspension */
		{RUN_TASK(2), .arrival_s = 5, .state = (char *)"completed", .attempts = 3,
		 .started_s = 80, .ended_s = 95, .etc_s = 14},
		/* lost, and dropped while it waited to start again */
		{.run = 1,
		 .task = 3,
		 .type = (char *)"EP.1",
		 .arrival_s = 6,
		 .state = (char *)"dropped",
		 .attempts = 1,
		 .started_s = 10,
		 .ended_s = 50,
		 .etc_s = NAN},
		/* lost before a store had lost attempts */
		{RUN_TASK(4), .arrival_s = 7, .state = (char *)"completed", .attempts = 2,
		 .started_s = 30, .ended_s = 40, .etc_s = 10},
	};
	static const struct store_suspension suspensions[] = {
		{SUSPENSION(0, 1), .n = 1, .suspended_s = 15, .exec_s = 10, .since_s = 50,
		 .resumed_s = 51},
		{SUSPENSION(0, 1), .n = 2, .suspended_s = NAN, .exec_s = NAN, .since_s = NAN},
		{SUSPENSION(0, 1), .n = 3, .suspended_s = 62, .exec_s = 10.4, .since_s = 82,
		 .resumed_s = 83},
		{SUSPENSION(1, 1), .n = 1, .suspended_s = 20, .exec_s = 17, .since_s = NAN,
		 .resumed_s = NAN},
		{SUSPENSION(2, 1), .n = 1, .suspended_s = 20, .exec_s = 5, .since_s = 30,
		 .resumed_s = 30},
	};
	static const struct store_task lost[] = {
		{.run = 1,
		 .task = 2,
		 .attempts = 1,
		 .cluster = (char *)"c1",
		 .nodes = (char *)"0",
		 .started_s = 10,
		 .ended_s = 34,
		 .reason = (char *)"lost"},
		{.run = 1,
		 .task = 2,
		 .attempts = 2,
		 .cluster = (char *)"c1",
		 .nodes = (char *)"0",
		 .started_s = 40,
		 .ended_s = 41,
		 .reason = (char *)"lost"},
		{.run = 1,
		 .task = 3,
		 .attempts = 1,
		 .cluster = (char *)"c1",
		 .nodes = (char *)"0,1",
		 .started_s = 10,
		 .ended_s = 18,
		 .reason = (char *)"lost"},
	};
	g_autofree char *text = export_tasks(tasks, G_N_ELEMENTS(tasks), suspensions,
					     G_N_ELEMENTS(suspensions), lost, G_N_ELEMENTS(lost));
	static const char *const lines[] = {
		"\n1 0 2 40 1 -1 -1 1 41 -1 1 ", /* 10 + 10.4 + (102 - 82) */
		"\n2 1 1 17 1 -1 -1 1 30 -1 5 ",
		"\n3 5 5 25 1 -1 -1 1 14 -1 1 ", /* 5 + (34 - 30), 1, 15 */
		"\n4 6 4 8 2 -1 -1 2 -1 -1 5 ",
		"\n5 7 23 10 1 -1 -1 1 10 -1 1 ",
		"; Note: run times are what was executed: of 3 jobs that were suspended",
		"; Note: 1 job started again after an attempt was lost",
		"; Note: of 1 job lost attempts are not on record",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
		if (!strstr(text, lines[i]))
			g_error("no \"%s\" in:\n%s", lines[i], text);
}

#define JOBS 200
#define PROCS 8

/*
 * What ran under FCFS, at any fractions of seconds, is replayed to the schedule that the trace
 * says.
 */
static void test_replay(void)
{
	g_autofree struct store_task *tasks = g_new0(struct store_task, JOBS);
	struct swf_job jobs[JOBS];
	struct swf_trace made = {.jobs_count = JOBS, .jobs = jobs, .procs = PROCS};
	struct replay_setup setup = {.trace = &made,
				     .procs = PROCS,
				     .policy = replay_policy_find("fcfs")};
	struct replay_result result;
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint line = 0;
	double now_s = 0;
	char nodes[PROCS + 1][2 * PROCS];

	g_strlcpy(nodes[1], "0", sizeof(nodes[1]));
	for (guint n = 2; n <= PROCS; n++)
		g_snprintf(nodes[n], sizeof(nodes[n]), "%s,%u", nodes[n - 1], n - 1);
	for (guint i = 0; i < JOBS; i++) {
		now_s += g_test_rand_double_range(0, 9);
		jobs[i] = (struct swf_job){.id = i,
					   .submit_s = now_s,
					   .procs = (uint32_t)g_test_rand_int_range(1, PROCS),
					   .run_s = g_test_rand_double_range(1, 30)};
		jobs[i].estimate_s = jobs[i].run_s;
	}
	replay_run(&setup, &result);
	for (guint i = 0; i < JOBS; i++)
		tasks[i] = (struct store_task){.run = 1,
					       .task = i,
					       .type = (char *)"EP.1",
					       .cluster = (char *)"c1",
					       .nodes = nodes[jobs[i].procs],
					       .state = (char *)"completed",
					       .attempts = 1,
					       .arrival_s = jobs[i].submit_s,
					       .started_s = result.start_s[i],
					       .ended_s = result.start_s[i] + jobs[i].run_s,
					       .etc_s = jobs[i].run_s};
	replay_finish(&result);
	text = export_tasks(tasks, JOBS, NULL, 0, NULL, 0);
	g_assert_null(strstr(text, "suspended"));

	g_autofree char *dir = g_dir_make_tmp("virtbed-swf-XXXXXX", NULL);
	g_autoptr(swf_trace_t) trace = read_back(dir, text);

	g_rmdir(dir);
	g_assert_cmpuint(trace->jobs_count, ==, JOBS);
	setup.trace = trace;
	replay_run(&setup, &result);
	g_assert_cmpuint(result.killed, ==, 0);
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; i < JOBS; i++) {
		g_auto(GStrv) fields = NULL;
		double submit_s, wait_s;

		while (lines[line][0] == ';')
			line++;
		fields = g_strsplit(lines[line++], " ", -1);
		g_assert_true(read_number(fields[1], 0, 1e9, &submit_s) &&
			      read_number(fields[2], 0, 1e9, &wait_s));
		g_assert_cmpint(trace->jobs[i].id, ==, i + 1);
		g_assert_cmpfloat(result.start_s[i], ==, submit_s + wait_s);
	}
	replay_finish(&result);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/swf-export/our-reader-reads-it-back", test_read_back);
	g_test_add_func("/swf-export/tasks-of-all-kinds", test_text);
	g_test_add_func("/swf-export/suspended time is no run time and lost attempts are no wait",
			test_suspended);
	g_test_add_func("/swf-export/a schedule of fcfs is replayed", test_replay);
	g_test_add_func("/swf-export/what is not shown is spelled out", test_visible);
	return g_test_run();
}
