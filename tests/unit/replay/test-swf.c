/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
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
		{"short-line.swf", "short-line.swf:3: 9 fields; a job has 18"},
		{"not-a-number.swf", "not-a-number.swf:3: field 4, \"ten"},
		{"negative-submit.swf", "negative-submit.swf:3: field 2: submitted at -5 s"},
		{"fraction-of-a-processor.swf", ":3: field 5: 1.5 is not a number of processors"},
		{"endless-run.swf", ":3: field 4: 1e+300 is not a time in seconds"},
		{"no-size.swf", "give --procs"},
		{"cut-short.swf.gz", "the gzip stream is cut short"},
		{"nowhere.swf", "cannot be read: No such file"},
	};
	const struct swf_filter all = {0};

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
	static const int64_t order[] = {2, 3, 1, 4};
	const struct swf_filter all = {0};
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
	const struct swf_filter all = {0};
	const struct swf_filter wider = {.procs = 5};
	const struct swf_filter one = {.procs = 5, .first = 1};
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
	const struct swf_filter all = {0};
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) plain = read_fixture("synthetic.swf", &all, &error);
	g_autoptr(swf_trace_t) zipped = read_fixture("synthetic.swf.gz", &all, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(plain->max_procs, ==, 32);
	g_assert_cmpuint(plain->max_nodes, ==, 16);
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

/* A trace of that text, or NULL with `error`. */
static struct swf_trace *read_text(const char *text, const struct swf_filter *filter,
				   GError **error)
{
	g_autofree char *dir = g_dir_make_tmp("virtbed-swf-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "t.swf", NULL);
	struct swf_trace *trace;

	g_assert_true(g_file_set_contents(path, text, -1, NULL));
	trace = swf_read(path, filter, error);
	g_unlink(path);
	g_rmdir(dir);
	return trace;
}

#define JOB(id, submit, run, status)                                                               \
	id " " submit " 0 " run " 2 -1 -1 2 20 -1 " status " 1 1 -1 1 1 -1 -1\n"

/* What no reader of numbers should take for one. */
static void test_numbers(void)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{"; MaxProcs: 1,024\n" JOB("1", "0", "10", "1"),
		 "t.swf:1: header: MaxProcs: \"1,024\" is no whole number"},
		{"; MaxProcs: 1 024\n" JOB("1", "0", "10", "1"), ":1: header: MaxProcs:"},
		{"; MaxProcs: 0x10\n" JOB("1", "0", "10", "1"), ":1: header: MaxProcs:"},
		{";\n; MaxNodes: 1e2\n" JOB("1", "0", "10", "1"), ":2: header: MaxNodes:"},
		{"; MaxProcs: 99999999999999999999\n" JOB("1", "0", "10", "1"),
		 ":1: header: MaxProcs:"},
		{"; MaxProcs: 99999999999999999999\n" JOB("1", "0", "10", "1"),
		 "is out of range; give --procs"},
		{"; MaxProcs: 5000000000\n" JOB("1", "0", "10", "1"),
		 "the header says 5000000000 processors (MaxProcs), which is out of range"},
		{"; MaxNodes: 99999999999\n" JOB("1", "0", "10", "1"),
		 "99999999999 processors (MaxNodes)"},
		{"; MaxProcs: 4\n" JOB("1", "0", "10", "2.5"),
		 ":2: field 11: 2.5 is not a completion code"},
		{"; MaxProcs: 4\n" JOB("1", "0", "10", "77"),
		 ":2: field 11: 77 is not a completion code"},
		{"; MaxProcs: 4\n" JOB("1", "0", "10", "6"),
		 ":2: field 11: 6 is not a completion code"},
		{"; MaxProcs: 4\n" JOB("1", "0", "10", "-5"),
		 ":2: field 11: -5 is not a completion code"},
		{"; MaxProcs: -1\n" JOB("1", "0", "10", "1"), "give --procs"},
		{"; MaxProcs: 4\n" JOB("1", "0", "0x10", "1"),
		 ":2: field 4, \"0x10\", is no number"},
		{"; MaxProcs: 4\n" JOB("1", "0", "1,024", "1"), ":2: field 4,"},
		{"; MaxProcs: 4\n" JOB("1", "+0", "10", "1"), ":2: field 2,"},
		{"; MaxProcs: 4\n" JOB("1", "0", "nan", "1"), ":2: field 4,"},
		{"; MaxProcs: 4\n" JOB("1", "0", "inf", "1"), ":2: field 4,"},
		{"; MaxProcs: 4\n" JOB("1", "0", "1e999", "1"), ":2: field 4,"},
		{"; MaxProcs: 4\n" JOB("1.5", "0", "10", "1"),
		 ":2: field 1, \"1.5\", is no job number"},
		{"; MaxProcs: 4\n" JOB("1e3", "0", "10", "1"), ":2: field 1,"},
		{"; MaxProcs: 4\n" JOB("9223372036854775808", "0", "10", "1"), ":2: field 1,"},
	};
	const struct swf_filter all = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(swf_trace_t) trace = read_text(cases[i].text, &all, &error);

		g_assert_null(trace);
		if (!strstr(error->message, cases[i].says))
			g_error("\"%s\" does not say \"%s\"", error->message, cases[i].says);
	}
}

/* What traces of others look like; each has one job, with 64 bits of a number. */
static void test_forms(void)
{
	static const char *const texts[] = {
		"; MaxProcs: 4\n" JOB("9007199254740993", "0", "10", "1"),
		"; MaxProcs: 4\r\n9007199254740993 0 0 10 2 -1 -1 2 20 -1 1 1 1 -1 1 1 -1 -1\r\n",
		";MaxProcs:4\n\t9007199254740993\t0 \t0 10 2 -1 -1 2 20 -1 1 1 1 -1 1 1 -1 -1 ",
		"; MaxNodes: 4\n" JOB("9007199254740993", "0", "10.0", "1"),
		"; MaxProcs: -1\n; MaxNodes: 4\n" JOB("9007199254740993", "0", "1e1", "1"),
		"; MaxProcs:\n; MaxNodes: 4 two-way nodes\n" JOB("9007199254740993", "0", "10",
								 "-1"),
		/* comments in between, which are no header any more */
		"; MaxProcs: 4\n" JOB("9007199254740993", "0", "10",
				      "5") "; MaxProcs: 1,024\n;\n\n; x\n",
		/* negative waits, and nothing known but what is needed */
		"; MaxProcs: 4\n9007199254740993 0 -7 10 2 -1 -1 -1 20 -1 -1 -1 -1 -1 -1 -1 -1 -1\n",
		/* a text of Windows, with a byte order mark */
		"\xef\xbb\xbf; MaxProcs: 4\r\n\r\n" JOB("9007199254740993", "0", "10", "1") "\r\n",
		/* comments of sites, and keys in other forms */
		"# exported by a site\n;; maxprocs : 4\n# MaxProcs: 1,024 at night\n"
		"; Queue: x\n" JOB("9007199254740993", "0", "10", "1"),
		/* a comment behind a job, and numbers with fractions */
		"; MaxProcs: 4\n9007199254740993.0 0.0 0 10.00 2.0 1.5 -1 2.0 20.5 -1 1.0 1 1 -1 1 1 -1 "
		"-1 ; requeued\n",
		/* 21 fields: more than the format has, and not all of them numbers */
		"; MaxProcs: 4\n9007199254740993 0 0 10 2 -1 -1 2 20 -1 1 1 1 -1 1 1 -1 -1 8.5e6 gpu "
		"batch\n",
	};
	const struct swf_filter all = {0};

	for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(swf_trace_t) trace = read_text(texts[i], &all, &error);

		g_assert_no_error(error);
		g_assert_cmpuint(trace->procs, ==, 4);
		g_assert_cmpuint(trace->jobs_count, ==, 1);
		g_assert_true(trace->jobs[0].id == INT64_C(9007199254740993));
		g_assert_cmpfloat(trace->jobs[0].run_s, ==, 10);
		g_assert_cmpuint(trace->jobs[0].procs, ==, 2);
		g_assert_cmpuint(trace->longer, ==, i + 1 == G_N_ELEMENTS(texts));
	}
}

/* The power of jobs is in the field of the header; a number that is not above 0 is not known. */
static void test_power(void)
{
	static const char job[] = " 0 0 10 2 -1 -1 2 20 -1 1 1 1 -1 1 1 -1 -1";
	static const char head[] = "; MaxProcs: 4\n; powerfield : 20 (mean watts)\n";
	static const struct {
		const char *head;
		const char *more;
		double power_w;
		const char *error;
	} cases[] = {
		{head, " gpu 812.5", 812.5, NULL},
		{head, " gpu 812.5 batch ; note", 812.5, NULL},
		{head, " 7 -1", 0, NULL},
		{head, " 7 0", 0, NULL},
		{"; MaxProcs: 4\n", " 7 812.5", 0, NULL},
		{"; MaxProcs: 4\n; PowerField: -1\n", " 7 812.5", 0, NULL},
		{head, " gpu many", 0, "field 20, \"many\", is no number"},
		{head, " gpu", 0, "19 fields; a job has 20 (PowerField)"},
		{head, " gpu ; 812.5", 0, "19 fields; a job has 20 (PowerField)"},
		{head, " gpu 1e300", 0, "field 20: 1e+300 is not a power in watts"},
		{"; PowerField: 18\n", "", 0, "PowerField: 18 is no field from 19 to 99"},
		{"; PowerField: watts\n", "", 0, "PowerField: \"watts\" is no whole number"},
	};
	const struct swf_filter filter = {.procs = 4};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strconcat(cases[i].head, "5", job, cases[i].more, "\n", NULL);
		g_autoptr(GError) error = NULL;
		g_autoptr(swf_trace_t) trace = read_text(text, &filter, &error);

		if (cases[i].error) {
			g_assert_error(error, SWF_ERROR, SWF_ERROR_LINE);
			g_assert_nonnull(strstr(error->message, cases[i].error));
			continue;
		}
		g_assert_no_error(error);
		g_assert_cmpuint(trace->jobs_count, ==, 1);
		g_assert_cmpfloat(trace->jobs[0].power_w, ==, cases[i].power_w);
		g_assert_cmpuint(trace->longer, ==, 1);
	}
}

/* Gzip members one after another are one trace, also with zeros behind the last. */
static void test_members(void)
{
	static const char zeros[512];
	const struct swf_filter all = {0};
	g_autofree char *path =
		g_test_build_filename(G_TEST_DIST, "traces", "synthetic.swf.gz", NULL);
	g_autofree char *dir = g_dir_make_tmp("virtbed-swf-XXXXXX", NULL);
	g_autofree char *twice = g_build_filename(dir, "twice.swf.gz", NULL);
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) once = swf_read(path, &all, &error);
	g_autoptr(swf_trace_t) trace = NULL;
	g_autofree char *contents = NULL;
	gsize length;

	g_assert_true(g_file_get_contents(path, &contents, &length, NULL));
	g_byte_array_append(bytes, (const guint8 *)contents, (guint)length);
	g_byte_array_append(bytes, (const guint8 *)contents, (guint)length);
	g_byte_array_append(bytes, (const guint8 *)zeros, sizeof(zeros));
	g_assert_true(
		g_file_set_contents(twice, (const char *)bytes->data, (gssize)bytes->len, NULL));
	trace = swf_read(twice, &all, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(trace->jobs_count, ==, 2 * once->jobs_count);
	g_clear_pointer(&trace, swf_free);
	/* What is no zero and no member is damage. */
	g_byte_array_append(bytes, (const guint8 *)"x", 1);
	g_assert_true(
		g_file_set_contents(twice, (const char *)bytes->data, (gssize)bytes->len, NULL));
	trace = swf_read(twice, &all, &error);
	g_assert_null(trace);
	g_assert_nonnull(strstr(error->message, "gzip stream"));
	g_unlink(twice);
	g_rmdir(dir);
}

/* Every line that is not replayed is listed with its number and the reason. */
static void test_left_out(void)
{
	static const struct swf_left_out expected[] = {
		{2, 1, SWF_REASON_BEFORE}, {4, 3, SWF_REASON_TIME}, {5, 4, SWF_REASON_WIDE},
		{6, 5, SWF_REASON_PART},   {7, 6, SWF_REASON_SIZE},
	};
	const struct swf_filter filter = {.procs = 2, .skip = 1, .list = true};
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = read_text(
		"; a site\n" JOB("1", "0", "10", "1") JOB("2", "0", "10", "1")
			JOB("3", "0", "0", "1") "4 0 0 10 3 -1 -1 3 20 -1 1 1 1 -1 1 1 -1 -1\n" JOB(
				"5", "0", "10",
				"2") "6 0 0 10 0 -1 -1 -1 20 -1 1 1 1 -1 1 1 -1 -1\n",
		&filter, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trace->jobs_count, ==, 1);
	g_assert_cmpint(trace->jobs[0].id, ==, 2);
	g_assert_cmpuint(trace->left_out_count, ==, G_N_ELEMENTS(expected));
	for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_assert_cmpuint(trace->left_out[i].line, ==, expected[i].line);
		g_assert_cmpint(trace->left_out[i].id, ==, expected[i].id);
		g_assert_cmpint(trace->left_out[i].reason, ==, expected[i].reason);
	}
}

/* A header that cannot be read does not matter where the size of the machine is given. */
static void test_given_size(void)
{
	const struct swf_filter given = {.procs = 8};
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace =
		read_text("; MaxProcs: 1,024\n" JOB("1", "0", "10", "1"), &given, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trace->procs, ==, 8);
	g_assert_cmpuint(trace->jobs_count, ==, 1);
}

/* SWF 2.2: codes 2, 3 and 4 are of parts; those after the first have no submit time. */
static void test_parts(void)
{
	const struct swf_filter all = {0};
	g_autoptr(GError) error = NULL;
	g_autoptr(swf_trace_t) trace = read_text(
		"; MaxProcs: 4\n" JOB("1", "0", "30", "1") JOB("1", "0", "10", "2")
			JOB("1", "-1", "20", "3") JOB("2", "5", "10", "1") JOB("3", "6", "5", "2")
				JOB("3", "-1", "6", "2") JOB("3", "-1", "6", "4")
					JOB("3", "6", "17", "0") /* the whole behind its parts */
		JOB("7", "8", "5", "2") JOB("7", "-1", "1", "3") JOB("9", "9", "1", "3"),
		&all, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(trace->jobs_count, ==, 3);
	g_assert_cmpfloat(trace->jobs[0].run_s, ==, 30);
	g_assert_cmpint(trace->jobs[2].id, ==, 3);
	g_assert_cmpfloat(trace->jobs[2].run_s, ==, 17);
	g_assert_cmpuint(trace->parts, ==, 8);
	g_assert_cmpuint(trace->lines, ==, 11);
	g_assert_cmpuint(trace->partial, ==, 2);
	g_assert_cmpint(trace->partial_id, ==, 7);
	g_assert_cmpuint(trace->skipped + trace->refused + trace->unsorted, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/swf/bad input is refused with its place", test_bad);
	g_test_add_func("/swf/jobs out of order are sorted stably", test_unsorted);
	g_test_add_func("/swf/jobs that cannot be replayed are counted", test_wide);
	g_test_add_func("/swf/a gzipped trace is the same trace", test_gzip);
	g_test_add_func("/swf/what is no number is none, with its place", test_numbers);
	g_test_add_func("/swf/traces in all their forms", test_forms);
	g_test_add_func("/swf/the power of jobs is in the field of the header", test_power);
	g_test_add_func("/swf/gzip members one after another are one trace", test_members);
	g_test_add_func("/swf/every line that is left out is listed", test_left_out);
	g_test_add_func("/swf/a given size needs no header", test_given_size);
	g_test_add_func("/swf/parts of jobs are left out and counted", test_parts);
	return g_test_run();
}
