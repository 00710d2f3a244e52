/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs as traces: what our own reader makes of them. */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "controller/replay/swf.h"
#include "controller/report/swf_export.h"
#include "tests/unit/report/fixture.h"

#define TASKS 40

static swf_trace_t *read_back(const char *dir, const char *text)
{
	const struct swf_filter filter = { 0 };
	g_autofree char *path = g_build_filename(dir, "run.swf", NULL);
	g_autoptr(GError) error = NULL;
	swf_trace_t *trace;

	g_assert_true(g_file_set_contents(path, text, -1, &error));
	trace = swf_read(path, &filter, &error);
	g_assert_no_error(error);
	g_unlink(path);
	return trace;
}

/* The job that a task is, if it is one that ran. */
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

		g_assert_true((job != NULL) ==
			      (task->nodes && isfinite(task->started_s) && isfinite(task->ended_s)));
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
		.measured = true, .runs = 1, .tasks = TASKS, .ratio = 1, .seed = 1,
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
	const struct fixture_cell cells[] = { { "easy", 1, 0, 0, 1 }, { NULL, 0, 0, 0, 0 } };
	const struct fixture fixture = { .runs = 1, .tasks = 0, .seed = 1, .cells = cells };
	const struct store_task tasks[] = {
		{ .run = 1, .task = 0, .type = "IS.2", .arrival_s = 1.4, .state = "completed",
		  .cluster = "c1", .nodes = "0,1", .attempts = 1, .started_s = 3.6, .ended_s = 20.2,
		  .etc_s = 15.5 },
		{ .run = 1, .task = 1, .type = "EP.1", .arrival_s = 2.5, .state = "failed",
		  .cluster = "c2", .nodes = "0", .attempts = 1, .started_s = 4, .ended_s = 4.2,
		  .etc_s = NAN },
		{ .run = 1, .task = 2, .type = "IS.2", .arrival_s = 9, .state = "dropped",
		  .started_s = NAN, .ended_s = 11, .etc_s = NAN },
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

	g_assert_cmpstr(text, ==,
			"; Version: 2.2\n"
			"; Computer: virtbed, a testbed of virtual clusters\n"
			"; Conversion: virtbed report --format swf\n"
			"; MaxJobs: 3\n"
			"; MaxRecords: 3\n"
			"; MaxProcs: 3\n"
			"; Note: run 1, simulated, policy easy, at 100 % of the energy\n"
			"; Note: a processor is a node, which one virtual machine fills\n"
			"; Note: requested times are the estimates of where the task ran\n"
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/swf-export/our-reader-reads-it-back", test_read_back);
	g_test_add_func("/swf-export/tasks-of-all-kinds", test_text);
	return g_test_run();
}
