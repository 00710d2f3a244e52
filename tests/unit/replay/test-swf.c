/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "controller/replay/swf.h"

static struct swf_trace *read_fixture(const char *name, const struct swf_filter *filter,
				      GError **error)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "traces", name, NULL);

	return swf_read(path, filter, error);
}

static void test_bad(void)
{
	const struct {
		const char *name;
		const char *says;
	} cases[] = {
		{ "short-line.swf", "short-line.swf:3: 9 fields; a job has 18" },
		{ "long-line.swf", "long-line.swf:3: more than 18 fields" },
		{ "not-a-number.swf", "not-a-number.swf:3: field 4, \"ten" },
		{ "negative-submit.swf", "negative-submit.swf:3: field 2: submitted at -5 s" },
		{ "fraction-of-a-processor.swf", ":3: field 5: 1.5 is no number of processors" },
		{ "endless-run.swf", ":3: field 4: 1e+300 is no time in seconds" },
		{ "no-size.swf", "give --procs" },
		{ "cut-short.swf.gz", "the gzip stream is cut short" },
		{ "nowhere.swf", "cannot be read: No such file" },
	};
	const struct swf_filter all = { 0 };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(swf_trace_t) trace = read_fixture(cases[i].name, &all, &error);

		g_assert_null(trace);
		g_assert_true(error && error->domain == SWF_ERROR);
		if (!strstr(error->message, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", error->message, cases[i].says);
	}
}

static void test_unsorted(void)
{
	static const int64_t order[] = { 2, 3, 1, 4 };
	const struct swf_filter all = { 0 };
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = read_fixture("unsorted.swf", &all, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trace->unsorted, ==, 1);
	g_assert_cmpuint(trace->jobs_count, ==, G_N_ELEMENTS(order));
	for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
		g_assert_cmpint(trace->jobs[i].id, ==, order[i]);
}

static void test_wide(void)
{
	const struct swf_filter all = { 0 };
	const struct swf_filter wider = { .procs = 5 };
	const struct swf_filter one = { .procs = 5, .first = 1 };
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = read_fixture("too-wide.swf", &all, &error);
	g_autoptr(swf_trace_t) more = read_fixture("too-wide.swf", &wider, &error);
	g_autoptr(swf_trace_t) first = read_fixture("too-wide.swf", &one, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trace->procs, ==, 4);
	g_assert_cmpuint(trace->lines, ==, 4);
	g_assert_cmpuint(trace->jobs_count, ==, 1);
	g_assert_cmpuint(trace->refused, ==, 1);
	g_assert_cmpuint(trace->skipped, ==, 2);
	g_assert_cmpuint(more->jobs_count, ==, 2);
	g_assert_cmpuint(more->jobs[1].procs, ==, 5);
	g_assert_cmpuint(first->jobs_count, ==, 1);
}

/* Compression changes nothing. */
static void test_gzip(void)
{
	const struct swf_filter all = { 0 };
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) plain = read_fixture("synthetic.swf", &all, &error);
	g_autoptr(swf_trace_t) zipped = read_fixture("synthetic.swf.gz", &all, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(plain->max_procs, ==, 32);
	g_assert_cmpuint(plain->max_nodes, ==, 16);
	g_assert_cmpint(plain->unix_start_s, ==, 1000000000);
	g_assert_cmpuint(plain->jobs_count, >, 100);
	g_assert_cmpuint(plain->jobs_count + plain->skipped + plain->refused, ==, 400);
	g_assert_cmpuint(plain->jobs_count, ==, zipped->jobs_count);
	for (uint32_t i = 0; i < plain->jobs_count; i++) {
		g_assert_cmpint(plain->jobs[i].id, ==, zipped->jobs[i].id);
		g_assert_cmpfloat(plain->jobs[i].submit_s, ==, zipped->jobs[i].submit_s);
		g_assert_cmpfloat(plain->jobs[i].run_s, ==, zipped->jobs[i].run_s);
		g_assert_cmpuint(plain->jobs[i].procs, ==, zipped->jobs[i].procs);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/swf/bad input is refused with its place", test_bad);
	g_test_add_func("/swf/jobs out of order are sorted stably", test_unsorted);
	g_test_add_func("/swf/jobs that cannot be replayed are counted", test_wide);
	g_test_add_func("/swf/a gzipped trace is the same trace", test_gzip);
	return g_test_run();
}
