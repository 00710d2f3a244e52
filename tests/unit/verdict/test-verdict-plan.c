/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>

#include "common/random.h"
#include "controller/verdict/verdict_plan.h"

static const char *const names[] = {"easy", "max-upr", "max-upe"};
static const double limits[] = {1, 0.6};

static const struct verdict_policies policies = {
	.written = names,
	.names = names,
	.count = 3,
	.limits = limits,
	.limits_count = 2,
};

/* Pairs of section verdict, made up. */
static char *first_pair[] = {(char *)"max-upr", (char *)"easy", NULL};
static char *second_pair[] = {(char *)"max-upe", (char *)"max-upr", NULL};
static double low_limit[] = {0.6};
static double full_limit[] = {1};

static struct config_verdict_pair pairs[] = {
	{.policies = first_pair, .policies_count = 2},
	{.policies = second_pair, .policies_count = 2, .limits = low_limit, .limits_count = 1},
};
static struct config_verdict_pair controls[] = {
	{.policies = second_pair, .policies_count = 2, .limits = full_limit, .limits_count = 1},
};
static const struct config_verdict section = {
	.pairs = pairs,
	.pairs_count = 2,
	.controls = controls,
	.controls_count = 1,
	.alpha = 0.05,
	.equal_within = 0.05,
	.repeats = 10,
};

static struct verdict_plan *new_plan(void)
{
	g_autoptr(GError) error = NULL;
	struct verdict_plan *plan = verdict_plan_new(&section, &policies, 10, &error);

	g_assert_no_error(error);
	return plan;
}

static void test_pairs_of_the_section(void)
{
	g_autoptr(verdict_plan_t) plan = new_plan();

	g_assert_cmpuint(plan->cells_count, ==, 6);
	g_assert_cmpuint(plan->pairs_count, ==, 4);
	g_assert_cmpuint(verdict_plan_full_runs(plan), ==, 60);
	g_assert_cmpstr(plan->cells[plan->pairs[0].first].policy, ==, "easy");
	g_assert_cmpstr(plan->cells[plan->pairs[0].second].policy, ==, "max-upr");
	g_assert_cmpfloat(plan->cells[plan->pairs[0].first].limit, ==, 1);
	g_assert_cmpfloat(plan->cells[plan->pairs[1].first].limit, ==, 0.6);
	g_assert_false(plan->pairs[2].control);
	g_assert_true(plan->pairs[3].control);
	g_assert_cmpfloat(plan->cells[plan->pairs[3].first].limit, ==, 1);
}

static void test_without_a_section_all_pairs(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(verdict_plan_t) plan = verdict_plan_new(NULL, &policies, 7, &error);
	struct verdict_policies one = policies;

	g_assert_no_error(error);
	g_assert_cmpuint(plan->pairs_count, ==, 6);
	g_assert_cmpfloat(plan->alpha, ==, VERDICT_ALPHA);
	one.count = 1;
	g_assert_null(verdict_plan_new(NULL, &one, 7, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS);
}

/* A run with --policy or --limit may lack what the section names. */
static void test_what_is_not_run_is_refused(void)
{
	struct verdict_policies fewer = policies;
	g_autoptr(GError) error = NULL;

	fewer.count = 2;
	g_assert_null(verdict_plan_new(&section, &fewer, 7, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS);
	g_assert_nonnull(strstr(error->message, "'max-upe' is none of the policies"));
	g_clear_error(&error);
	fewer = policies;
	fewer.limits_count = 1;
	g_assert_null(verdict_plan_new(&section, &fewer, 7, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS);
}

/* A store in a directory of its own. */
struct bed {
	char *dir;
	struct store *store;
	GPtrArray *rows;
};

static void bed_init(struct bed *bed)
{
	g_autoptr(GError) error = NULL;

	bed->dir = g_dir_make_tmp("virtbed-verdict-XXXXXX", NULL);
	bed->store = store_open(bed->dir, true, &error);
	g_assert_no_error(error);
	bed->rows = NULL;
}

static void bed_clear(struct bed *bed)
{
	static const char *const files[] = {"run.sqlite", "run.sqlite-wal", "run.sqlite-shm"};

	g_clear_pointer(&bed->rows, g_ptr_array_unref);
	store_close(bed->store);
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *path = g_build_filename(bed->dir, files[i], NULL);

		g_unlink(path);
	}
	g_rmdir(bed->dir);
	g_free(bed->dir);
}

/* A run of the store; `ended_by` NULL: it is under way. */
static void bed_add(struct bed *bed, const struct verdict_cell *cell, uint32_t repeat,
		    double utility, const char *ended_by)
{
	g_autoptr(GError) error = NULL;
	struct store_run row = {
		.policy = cell->policy,
		.limit = cell->limit,
		.repeat = repeat,
		.measured = true,
		.ended_by = (char *)ended_by,
		.utility = utility,
		.energy_j = NAN,
		.host_load = NAN,
	};

	g_assert_true(store_add_run(bed->store, &row, &error));
	g_assert_no_error(error);
	g_clear_pointer(&bed->rows, g_ptr_array_unref);
	bed->rows = store_runs(bed->store, &error);
	g_assert_no_error(error);
}

static void bed_read(struct bed *bed)
{
	g_autoptr(GError) error = NULL;

	g_clear_pointer(&bed->rows, g_ptr_array_unref);
	bed->rows = store_runs(bed->store, &error);
	g_assert_no_error(error);
}

static double utility_of(uint32_t cell, uint32_t repeat)
{
	struct random_stream random;

	random_stream_init(&random, 3, cell * 100 + repeat);
	return 100 - 9 * (cell % 3) + 6 * (random_stream_uniform(&random) - 0.5);
}

/* Makes the next run, or none; returns its cell and repeat as one number, 0 for none. */
static uint32_t bed_step(struct bed *bed, bool interrupted)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(verdict_plan_t) plan = verdict_plan_load(bed->store, &error);
	g_autoptr(verdict_outcome_t) outcome = NULL;
	uint32_t cell, repeat;

	g_assert_no_error(error);
	bed_read(bed);
	outcome = verdict_outcome_new(plan, bed->rows);
	if (outcome->all_ran && !plan->noise_asked) {
		for (uint32_t i = 0; i < plan->cells_count; i++)
			plan->cells[i].utility_sd = i == 4 ? (double)NAN : 2;
		plan->noise_asked = true;
		g_assert_true(verdict_plan_save(plan, bed->store, &error));
		return bed_step(bed, interrupted);
	}
	if (!verdict_outcome_next(outcome, bed->rows, &cell, &repeat))
		return 0;
	if (interrupted)
		bed_add(bed, &plan->cells[cell], repeat, 0, "aborted");
	else
		bed_add(bed, &plan->cells[cell], repeat, utility_of(cell, repeat), "time");
	return 1000 * (cell + 1) + repeat;
}

/* Each choice is made from what the store has, by a reader that knows nothing else. */
static void test_a_resumed_run_makes_the_same_choices(void)
{
	g_autoptr(verdict_plan_t) plan = new_plan();
	g_autoptr(GArray) choices = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	g_autoptr(GError) error = NULL;
	struct bed whole, resumed;
	uint32_t choice;

	bed_init(&whole);
	bed_init(&resumed);
	g_assert_true(verdict_plan_save(plan, whole.store, &error));
	g_assert_true(verdict_plan_save(plan, resumed.store, &error));
	while ((choice = bed_step(&whole, false)) > 0)
		g_array_append_val(choices, choice);
	g_assert_cmpuint(choices->len, >=, 8);
	g_assert_cmpuint(choices->len, <, 60);
	for (guint i = 0; i < choices->len; i++) {
		/* Every third run is interrupted, and is made again before anything else. */
		if (i % 3 == 1)
			g_assert_cmpuint(bed_step(&resumed, true), ==,
					 g_array_index(choices, uint32_t, i));
		g_assert_cmpuint(bed_step(&resumed, false), ==,
				 g_array_index(choices, uint32_t, i));
	}
	g_assert_cmpuint(bed_step(&resumed, false), ==, 0);
	bed_clear(&whole);
	bed_clear(&resumed);
}

/* An interrupted run is made again, even where another one would be chosen. */
static void test_an_interrupted_run_comes_first(void)
{
	g_autoptr(verdict_plan_t) plan = new_plan();
	g_autoptr(verdict_outcome_t) outcome = NULL;
	struct bed bed;
	uint32_t cell = 0, repeat = 0;

	bed_init(&bed);
	for (uint32_t i = 0; i < 6; i++)
		bed_add(&bed, &plan->cells[i], 1, utility_of(i, 1), "time");
	bed_add(&bed, &plan->cells[5], 2, NAN, NULL);
	outcome = verdict_outcome_new(plan, bed.rows);
	g_assert_cmpuint(outcome->made, ==, 6);
	g_assert_true(outcome->all_ran);
	g_assert_true(verdict_outcome_next(outcome, bed.rows, &cell, &repeat));
	g_assert_cmpuint(cell, ==, 5);
	g_assert_cmpuint(repeat, ==, 2);
	bed_clear(&bed);
}

static void test_the_record_is_read_back_and_is_not_changed(void)
{
	g_autoptr(verdict_plan_t) plan = new_plan();
	g_autoptr(verdict_plan_t) read = NULL;
	g_autoptr(verdict_plan_t) all = NULL;
	g_autoptr(GError) error = NULL;
	struct bed bed;

	bed_init(&bed);
	g_assert_null(verdict_plan_load(bed.store, &error));
	g_assert_no_error(error);
	plan->cells[2].utility_sd = 1.5;
	g_assert_true(verdict_plan_save(plan, bed.store, &error));
	read = verdict_plan_load(bed.store, &error);
	g_assert_no_error(error);
	g_assert_true(verdict_plan_same(read, plan, &error));
	g_assert_cmpfloat(read->cells[2].utility_sd, ==, 1.5);
	g_assert_true(isnan(read->cells[1].utility_sd));
	g_assert_cmpuint(read->repeats, ==, 10);
	all = verdict_plan_new(NULL, &policies, 10, &error);
	g_assert_false(verdict_plan_same(read, all, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_CHANGED);
	g_clear_error(&error);
	plan->alpha = 0.1;
	g_assert_false(verdict_plan_same(read, plan, &error));
	g_clear_error(&error);
	g_assert_true(store_set_meta(bed.store, "verdict", "{\"alpha\":0.05}", &error));
	g_assert_null(verdict_plan_load(bed.store, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_RECORD);
	bed_clear(&bed);
}

/* A record asks for no more memory than a full design may take. */
static void test_designs_have_a_size(void)
{
	static const char *const many[] = {"a", "b", "c", "d", "e", "f"};
	const struct verdict_policies large = {many, many, G_N_ELEMENTS(many), limits, 2};
	g_autoptr(GError) error = NULL;
	g_autoptr(verdict_plan_t) plan = verdict_plan_new(NULL, &large, 10000, &error);
	struct bed bed;

	g_assert_no_error(error);
	bed_init(&bed);
	g_assert_null(verdict_plan_new(NULL, &large, 1000000, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_PAIRS);
	g_clear_error(&error);
	plan->repeats = 1000000;
	g_assert_true(verdict_plan_save(plan, bed.store, &error));
	g_assert_null(verdict_plan_load(bed.store, &error));
	g_assert_error(error, VERDICT_ERROR, VERDICT_ERROR_RECORD);
	bed_clear(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/verdict-plan/pairs-of-the-section", test_pairs_of_the_section);
	g_test_add_func("/verdict-plan/without-a-section-all-pairs",
			test_without_a_section_all_pairs);
	g_test_add_func("/verdict-plan/what-is-not-run-is-refused",
			test_what_is_not_run_is_refused);
	g_test_add_func("/verdict-plan/a-resumed-run-makes-the-same-choices",
			test_a_resumed_run_makes_the_same_choices);
	g_test_add_func("/verdict-plan/an-interrupted-run-comes-first",
			test_an_interrupted_run_comes_first);
	g_test_add_func("/verdict-plan/the-record-is-read-back-and-is-not-changed",
			test_the_record_is_read_back_and_is_not_changed);
	g_test_add_func("/verdict-plan/designs-have-a-size", test_designs_have_a_size);
	return g_test_run();
}
