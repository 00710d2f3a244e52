/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/report.h"
#include "controller/report/service_run.h"
#include "controller/report/summary.h"
#include "controller/report/suspensions.h"
#include "controller/store/store_service.h"
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
		.policy = (char *)policy,
		.limit = limit,
		.limit_j = 100 * limit,
		.repeat = repeat,
		.measured = true,
		.ended_by = (char *)ended_by,
		.ended_s = 10 * repeat,
		.utility = utility,
		.energy_j = 50,
		.host_load = repeat == 1 ? NAN : 1.25,
		.gap_s = 0.5,
		.tasks_completed = repeat,
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
		{"meter_mean_s", "300",
		 "watts are means over up to 300 s, some over a time that is "
		 "not known: changes show late"},
		{"meter_mean_unknown", "true", "some over a time that is not known"},
		{"modelled_watts", "true", "watts come from a model"},
		{"steady_lab", "true", "followed this machine's own speed"},
		{"virt_type", "kvm", "to VMs under KVM is WRONG"},
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

/* A mean over an unknown time is one as well where no other is known. */
static void test_headings_say_that_a_time_is_not_known(struct directory *directory,
						       const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) heading = NULL;
	g_autofree char *text = NULL;

	add(directory, "easy", 1, 1, "time", 1);
	g_assert_true(store_set_meta(directory->store, "meter_mean_s", "0", NULL));
	g_assert_true(store_set_meta(directory->store, "meter_mean_unknown", "true", NULL));
	summary = load(directory);
	heading = summary_heading(summary);
	g_ptr_array_add(heading, NULL);
	text = g_strjoinv("\n", (char **)heading->pdata);
	g_assert_nonnull(strstr(text, "watts are means over a time that is not known"));
}

/* A management module's watts of a bay need not be measured. */
static void test_headings_say_that_watts_are_an_allotment(struct directory *directory,
							  const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) heading = NULL;
	g_autofree char *text = NULL;

	add(directory, "easy", 1, 1, "time", 1);
	g_assert_true(store_set_meta(directory->store, "meter", "amm", NULL));
	summary = load(directory);
	heading = summary_heading(summary);
	g_ptr_array_add(heading, NULL);
	text = g_strjoinv("\n", (char **)heading->pdata);
	g_assert_nonnull(strstr(text, "allots to its bay"));
}

/* Watts of simulated clusters are no model's of CPU time. */
static void test_headings_say_that_watts_are_simulated(struct directory *directory,
						       const void *data)
{
	static const char *const metas[][2] = {
		{"virt_type", "simulated"},
		{"meter", "simulated"},
		{"modelled_watts", "true"},
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
	g_assert_nonnull(strstr(text, "watts are simulated"));
	g_assert_null(strstr(text, "CPU time"));
}

static void add_overdue(struct directory *directory, int64_t run, const char *seconds,
			const char *causes)
{
	g_autofree char *detail =
		g_strdup_printf("{\"task\":1,\"attempt\":1,\"reason\":\"starts %s s later than "
				"promised%s\"}",
				seconds, causes);

	g_assert_true(store_add_event(directory->store, run, 5, "overdue", detail, NULL));
}

static char *heading_text(const struct summary *summary)
{
	g_autoptr(GPtrArray) heading = summary_heading(summary);

	g_ptr_array_add(heading, NULL);
	return g_strjoinv("\n", (char **)heading->pdata);
}

/*
 * Tasks of the runs shown that started later than they were promised are counted, with why, and the
 * largest delay.
 */
static void test_overdue(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(json_t) json = NULL;
	g_autofree char *text = NULL;

	add(directory, "conservative", 1, 1, "time", 1);
	add(directory, "conservative", 1, 2, "aborted", 1);
	add_overdue(directory, 1, "2.500",
		    ": what ran on its nodes was late; a node of its place went");
	add_overdue(directory, 1, "11.250", ": what ran on its nodes was late");
	add_overdue(directory, 2, "99.000", ": the window had no energy left for it");
	g_assert_true(store_add_event(directory->store, 1, 5, "slid", NULL, NULL));
	summary = load(directory);
	text = heading_text(summary);
	g_assert_nonnull(strstr(
		text,
		"2 starts later than a reservation promised, by up to 11.2 s: what ran on its nodes "
		"was late (2), a node of its place went (1) (events \"overdue\")"));
	json = summary_json(summary);
	g_assert_cmpint(json_integer_value(json_object_get(json, "overdue")), ==, 2);
}

/* Where events say nothing of it, nor does the heading; of simulations none are on record. */
static void test_overdue_unknown(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(json_t) json = NULL;
	g_autofree char *text = NULL;

	add(directory, "conservative", 1, 1, "time", 1);
	g_assert_true(store_add_event(directory->store, 1, 5, "overdue", NULL, NULL));
	summary = load(directory);
	text = heading_text(summary);
	g_assert_nonnull(
		strstr(text, "1 start later than a reservation promised (events \"overdue\")"));
	summary_free(summary);
	g_assert_true(store_set_meta(directory->store, "kind", "simulated", NULL));
	summary = load(directory);
	json = summary_json(summary);
	g_assert_true(json_is_null(json_object_get(json, "overdue")));
}

/*
 * What a service decided by, from the first on record; a service with one policy throughout has no
 * line.
 */
static void test_policies_of_a_service(struct directory *directory, const void *data)
{
	static const char *const policies[] = {"easy", "easy", "max-util", "easy",
					       "fcfs", "easy", "fcfs",     "easy"};
	static const char *const texts[] = {
		NULL,
		NULL,
		"policies: easy until 2T, then max-util",
		"policies: easy until 2T, then max-util until 3T, then easy",
	};

	for (guint i = 0; i < G_N_ELEMENTS(policies); i++) {
		g_autofree char *utc = g_strdup_printf("%uT", i);
		g_autofree char *text = NULL;

		g_assert_true(store_note_policy(directory->store, policies[i], i, utc, NULL));
		text = service_run_policies_text(directory->store);
		if (i < G_N_ELEMENTS(texts))
			g_assert_cmpstr(text, ==, texts[i]);
		else if (i + 1 == G_N_ELEMENTS(policies))
			g_assert_true(
				g_str_has_prefix(text,
						 "policies: 1 before until 2T, then max-util"));
	}
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
	csv = report_csv(&summary, 1, "policies", NULL);
	g_assert_nonnull(strstr(csv, ",\"a,\"\"b\"\"\xef\xbf\xbd\",1,100,1,1,"));
	document = report_json(&summary, 1, NULL);
	g_assert_cmpuint(json_array_size(json_object_get(json_array_get(document, 0), "runs")), ==,
			 1);
	json_decref(document);
}

/*
 * A task that was suspended twice, and once more but that was rolled back; a task that was not
 * resumed.
 */
static void put_suspended(struct directory *directory)
{
	static const struct store_suspension rows[] = {
		{.run = 1,
		 .task = 0,
		 .attempt = 1,
		 .n = 1,
		 .suspended_s = 10.5,
		 .since_s = 20,
		 .freeze_s = 0.1,
		 .save_s = 0.5,
		 .restore_s = 0,
		 .resume_s = 0.2,
		 .skew_s = NAN},
		{.run = 1,
		 .task = 0,
		 .attempt = 1,
		 .n = 2,
		 .suspended_s = 31.5,
		 .since_s = 50,
		 .freeze_s = 0.3,
		 .save_s = 1.5,
		 .restore_s = 0,
		 .resume_s = 0.4,
		 .skew_s = NAN},
		{.run = 1,
		 .task = 0,
		 .attempt = 1,
		 .n = 3,
		 .suspended_s = NAN,
		 .since_s = NAN,
		 .freeze_s = NAN,
		 .save_s = NAN,
		 .restore_s = NAN,
		 .resume_s = NAN,
		 .skew_s = NAN},
		{.run = 1,
		 .task = 1,
		 .attempt = 1,
		 .n = 1,
		 .suspended_s = 60,
		 .since_s = NAN,
		 .freeze_s = 0.2,
		 .save_s = 1,
		 .restore_s = NAN,
		 .resume_s = NAN,
		 .skew_s = 0.01},
	};

	for (uint32_t i = 0; i < 2; i++) {
		const struct store_task task = {.run = 1,
						.task = i,
						.type = (char *)"IS",
						.state = (char *)"completed"};

		g_assert_true(store_put_task(directory->store, &task, NULL));
	}
	for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
		struct store_suspension row = rows[i];

		row.cluster = (char *)"c1";
		row.nodes = (char *)"0";
		g_assert_true(store_put_suspension(directory->store, &row, NULL));
	}
}

static void test_suspensions(struct directory *directory, const void *data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GPtrArray) suspensions = NULL;
	g_autofree char *text = NULL;
	const struct standstills *count;
	const struct step_times *step;

	add(directory, "max-util-preempt-greedy", 1, 1, "time", 1);
	put_suspended(directory);
	summary = load(directory);
	suspensions = listing_read(&suspensions_part, summary, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(listing_array(suspensions, 0)->len, ==, 1);
	count = &g_array_index(listing_array(suspensions, 0), struct standstills, 0);
	g_assert_cmpstr(count->type, ==, "IS");
	g_assert_cmpuint(count->tasks, ==, 2);
	g_assert_cmpuint(count->suspended, ==, 3);
	g_assert_cmpuint(count->resumed, ==, 2);
	g_assert_cmpfloat(count->still_s, ==, 10 + 20);
	g_assert_cmpfloat(count->still_median_s, ==, 15);
	g_assert_cmpfloat(count->still_max_s, ==, 20);
	/* Nothing was restored from a disk. */
	g_assert_cmpuint(listing_array(suspensions, 1)->len, ==, 4);
	step = &g_array_index(listing_array(suspensions, 1), struct step_times, 1);
	g_assert_cmpstr(step->step, ==, "save");
	g_assert_cmpstr(step->cluster, ==, "c1");
	g_assert_cmpuint(step->n, ==, 3);
	g_assert_cmpfloat(step->median_s, ==, 1);
	g_assert_cmpfloat(step->max_s, ==, 1.5);
	text = report_text(summary, &error);
	g_assert_no_error(error);
	g_assert_nonnull(strstr(text, SUSPENSIONS_COUNTS_TITLE));
	g_assert_nonnull(strstr(text, SUSPENSIONS_STEPS_TITLE));
}

static void test_nothing_suspended(struct directory *directory, const void *data)
{
	g_autoptr(summary_t) summary = NULL;
	g_autofree char *text = NULL;
	json_t *document;
	json_t *types;

	add(directory, "easy", 1, 1, "time", 1);
	summary = load(directory);
	text = report_text(summary, NULL);
	g_assert_null(strstr(text, SUSPENSIONS_COUNTS_TITLE));
	document = report_json(&summary, 1, NULL);
	types = json_object_get(json_object_get(json_array_get(document, 0), "suspensions"),
				"types");
	g_assert_true(json_is_array(types));
	g_assert_cmpuint(json_array_size(types), ==, 0);
	json_decref(document);
}

#define TEST(path, function) g_test_add(path, struct directory, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	TEST("/summary/cells hold means and deviations over their runs", test_cells);
	TEST("/summary/runs that did not end are left out", test_unfinished_runs_are_left_out);
	TEST("/summary/headings say what is not real", test_headings_say_what_is_not_real);
	TEST("/summary/headings say that a time is not known",
	     test_headings_say_that_a_time_is_not_known);
	TEST("/summary/headings say that watts are an allotment",
	     test_headings_say_that_watts_are_an_allotment);
	TEST("/summary/headings say that watts are simulated",
	     test_headings_say_that_watts_are_simulated);
	TEST("/summary/starts later than promised are counted", test_overdue);
	TEST("/summary/starts later than promised are not known everywhere", test_overdue_unknown);
	TEST("/summary/a service's policies are told in order", test_policies_of_a_service);
	TEST("/summary/nothing ended is bad input", test_nothing_ended);
	TEST("/summary/odd names are quoted", test_odd_names);
	TEST("/suspensions/they are counted by type, and their steps by cluster", test_suspensions);
	TEST("/suspensions/nothing is told where nothing was suspended", test_nothing_suspended);
	return g_test_run();
}
