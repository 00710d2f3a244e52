/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/report/report.h"
#include "controller/report/summary.h"
#include "fixture.h"

/* A run directory that a test fills run by run. */
struct directory {
	char *dir;
	struct store *store;
};

static void set_up(struct directory *directory, const void *data)
{
	g_autoptr(GError) error = NULL;

	directory->dir = g_dir_make_tmp("virtbed-summary-XXXXXX", NULL);
	directory->store = store_open(directory->dir, true, &error);
	g_assert_no_error(error);
}

static void tear_down(struct directory *directory, const void *data)
{
	store_close(directory->store);
	fixture_remove(directory->dir);
}

static void add(struct directory *directory, const char *policy, double limit, uint32_t repeat,
		const char *ended_by, double utility)
{
	g_autoptr(GError) error = NULL;
	struct store_run run = {
		.policy = (char *)policy, .limit = limit, .limit_j = 100 * limit, .repeat = repeat,
		.measured = true, .ended_by = (char *)ended_by, .ended_s = 10 * repeat,
		.utility = utility, .energy_j = 50, .host_load = repeat == 1 ? NAN : 1.25,
		.gap_s = 0.5, .tasks_completed = repeat,
	};

	g_assert_true(store_add_run(directory->store, &run, &error));
}

static struct summary *load(struct directory *directory)
{
	g_autoptr(GError) error = NULL;
	struct summary *summary = summary_load(directory->dir, &error);

	g_assert_no_error(error);
	return summary;
}

static void test_cells(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	const struct summary_cell *cell;
	g_autofree char *ended_by = NULL;

	add(directory, "easy", 0.7, 2, "limit", 10);
	add(directory, "easy", 1, 1, "time", 1);
	add(directory, "random", 0.7, 1, "limit", 5);
	add(directory, "easy", 0.7, 1, "time", 14);
	summary = load(directory);
	g_assert_cmpuint(summary->policies->len, ==, 2);
	g_assert_cmpstr(summary->policies->pdata[0], ==, "easy");
	g_assert_cmpfloat(g_array_index(summary->limits, double, 0), ==, 1);
	g_assert_null(summary_cell(summary, "random", 1));
	cell = summary_cell(summary, "easy", 0.7);
	g_assert_cmpuint(cell->runs, ==, 2);
	g_assert_cmpfloat(cell->utility_mean, ==, 12);
	g_assert_cmpfloat(fabs(cell->utility_sd - sqrt(8)), <, 1e-12);
	g_assert_cmpfloat(cell->completed_mean, ==, 1.5);
	g_assert_cmpfloat(cell->gap_s, ==, 1);
	ended_by = summary_ended_by(cell);
	g_assert_cmpstr(ended_by, ==, "limit 1, time 1");
	g_assert_cmpfloat(summary->host_load, ==, 1.25);
	g_assert_true(summary->measured);
}

static void test_unfinished_runs_are_left_out(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) heading = NULL;

	add(directory, "easy", 1, 1, "time", 1);
	add(directory, "easy", 1, 2, NULL, 100);
	add(directory, "easy", 1, 3, "aborted", 100);
	summary = load(directory);
	heading = summary_heading(summary);
	g_assert_cmpuint(summary->left_out, ==, 2);
	g_assert_cmpfloat(summary_cell(summary, "easy", 1)->utility_mean, ==, 1);
	g_assert_nonnull(strstr(heading->pdata[heading->len - 1], "2 runs left out"));
}

/* What a run rests on that is not the real thing stands in its heading. */
static void test_headings_say_what_is_not_real(struct directory *directory, const void *data)
{
	static const char *const metas[][3] = {
		{"caps_effective", "no", "NOT EFFECTIVE"},
		{"meter", "rapl", "CPU packages (RAPL)"},
		{"modelled_watts", "true", "watts come from a model"},
	};
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) heading = NULL;
	g_autofree char *text = NULL;

	add(directory, "easy", 1, 1, "time", 1);
	for (gsize i = 0; i < G_N_ELEMENTS(metas); i++)
		g_assert_true(store_set_meta(directory->store, metas[i][0], metas[i][1], NULL));
	summary = load(directory);
	heading = summary_heading(summary);
	g_ptr_array_add(heading, NULL);
	text = g_strjoinv("\n", (char **)heading->pdata);
	for (gsize i = 0; i < G_N_ELEMENTS(metas); i++)
		g_assert_nonnull(strstr(text, metas[i][2]));
}

static void test_nothing_ended(struct directory *directory, const void *data)
{
	g_autoptr(GError) error = NULL;

	add(directory, "easy", 1, 1, NULL, 1);
	g_assert_null(summary_load(directory->dir, &error));
	g_assert_error(error, SUMMARY_ERROR, SUMMARY_ERROR_EMPTY);
}

/* Commas, quotes and bytes that are no UTF-8 neither break the CSV nor the JSON. */
static void test_odd_names(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autofree char *csv = NULL;
	json_t *document;

	add(directory, "a,\"b\"\xff", 1, 1, "time", 1);
	summary = load(directory);
	csv = report_csv(&summary, 1);
	g_assert_nonnull(strstr(csv, ",\"a,\"\"b\"\"\xef\xbf\xbd\",1,100,1,1,"));
	document = report_json(&summary, 1, NULL);
	g_assert_cmpuint(json_array_size(json_object_get(json_array_get(document, 0), "runs")), ==,
			 1);
	json_decref(document);
}

#define TEST(path, function) g_test_add(path, struct directory, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/summary/cells hold means and deviations over their runs", test_cells);
	TEST("/summary/runs that did not end are left out", test_unfinished_runs_are_left_out);
	TEST("/summary/headings say what is not real", test_headings_say_what_is_not_real);
	TEST("/summary/nothing ended is bad input", test_nothing_ended);
	TEST("/summary/odd names are quoted", test_odd_names);
	return g_test_run();
}
