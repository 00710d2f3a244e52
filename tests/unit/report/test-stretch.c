/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stretches on shared hosts, and verdicts by them. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/compare.h"
#include "controller/report/stretch.h"
#include "fixture.h"

/* UNFINISHED is what a run says that has no tasks on record. */
enum { TASKS = 20, UNFINISHED = 2 };

/* A policy: all of its tasks take so long, in repeat r 1 s x r longer; what its runs earn. */
struct shape {
	const char *policy; /* NULL ends a list */
	double turnaround_s;
	double utility;
};

static char *source_root(void)
{
	const char *root = g_getenv("VIRTBED_SOURCE_ROOT");

	return g_strdup(root ? root : ".");
}

/* A run directory of a configuration whose cluster is shared. */
static char *directory_new(bool measured, struct store **ret_store)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *root = source_root();
	g_autofree char *from = g_build_filename(root, "configs", "one-machine-sharing.yaml", NULL);
	char *dir = g_dir_make_tmp("virtbed-stretch-XXXXXX", NULL);
	g_autofree char *to = g_build_filename(dir, "config.yaml", NULL);
	g_autofree char *text = NULL;
	const struct config_estimate estimates[] = {
		{.type = (char *)"IS.1", .cluster = (char *)"hosts", .etc_s = 40, .count = 1},
		{.type = (char *)"CG.2", .cluster = (char *)"hosts", .etc_s = 10, .count = 1},
	};

	g_assert_true(g_file_get_contents(from, &text, NULL, &error));
	g_assert_true(g_file_set_contents(to, text, -1, &error));
	*ret_store = store_open(dir, true, &error);
	g_assert_no_error(error);
	g_assert_true(
		store_set_meta(*ret_store, "kind", measured ? "measured" : "simulated", NULL));
	g_assert_true(store_put_estimates(*ret_store, estimates, G_N_ELEMENTS(estimates), NULL));
	return dir;
}

static int64_t put_run(struct store *store, bool measured, const char *policy, uint32_t repeat,
		       double utility)
{
	g_autoptr(GError) error = NULL;
	struct store_run run = {
		.policy = (char *)policy,
		.limit = 1,
		.limit_j = 1,
		.repeat = repeat,
		.seed = 1,
		.measured = measured,
		.ended_by = (char *)"done",
		.ended_s = 1000,
		.utility = utility,
		.host_load = NAN,
		.tasks_arrived = TASKS,
		.tasks_completed = TASKS - UNFINISHED,
	};

	g_assert_true(store_add_run(store, &run, &error));
	return run.run;
}

static void put_task(struct store *store, int64_t run, uint32_t number, const char *type,
		     const char *state, double arrival_s, double ended_s)
{
	const struct store_task task = {
		.run = run,
		.task = number,
		.type = (char *)type,
		.state = (char *)state,
		.arrival_s = arrival_s,
		.ended_s = ended_s,
		.started_s = NAN,
		.exec_s = NAN,
		.etc_s = NAN,
		.utility = 0,
	};

	g_assert_true(store_put_task(store, &task, NULL));
}

static void put_shape(struct store *store, const struct shape *shape, bool measured,
		      uint32_t repeat)
{
	int64_t run = put_run(store, measured, shape->policy, repeat, shape->utility);

	for (uint32_t i = 0; i < TASKS; i++)
		put_task(store, run, i, "IS.1", "completed", i,
			 i + shape->turnaround_s + repeat + 0.1 * (i % 3));
}

static struct summary *load(const char *dir)
{
	g_autoptr(GError) error = NULL;
	struct summary *summary = summary_load(dir, &error);

	g_assert_no_error(error);
	return summary;
}

/* A side of a comparison. */
struct side {
	char *dir;
	struct summary *summary;
};

static struct side side_new(const struct shape *shapes, bool measured, uint32_t repeats)
{
	struct store *store;
	struct side side = {.dir = directory_new(measured, &store)};

	for (; shapes->policy; shapes++)
		for (uint32_t r = 1; r <= repeats; r++)
			put_shape(store, shapes, measured, r);
	store_close(store);
	side.summary = load(side.dir);
	return side;
}

static void side_clear(struct side *side)
{
	summary_free(side->summary);
	fixture_remove(side->dir);
}

static struct compare *compare_sides(const struct side *measured, const struct side *simulated)
{
	static struct compare_sides sides;
	g_autoptr(GError) error = NULL;
	struct compare *compare;

	compare_sides_clear(&sides);
	compare_sides_init(&sides, measured->summary, NULL, simulated->summary, NULL);
	compare = compare_new(&sides, false, &error);
	g_assert_no_error(error);
	return compare;
}

/*
 * What completed counts with its bound; what did not with what it took until the end of the run, or
 * its time alone; what came after that not at all.
 */
static void test_bounds(void)
{
	struct store *store;
	char *dir = directory_new(true, &store);
	int64_t run = put_run(store, true, "greedy", 1, 0);
	g_autoptr(summary_t) summary = NULL;
	g_autoptr(GArray) tasks = NULL;
	struct stretch stretch;
	const double expected[] = {80.0 / 40, 60.0 / 30, 1, 100.0 / 40, 1, 200.0 / 30};

	put_task(store, run, 0, "IS.1", "completed", 0, 80);
	put_task(store, run, 1, "CG.2", "completed", 0, 60);
	put_task(store, run, 2, "CG.2", "completed", 0, 25);
	put_task(store, run, 3, "IS.1", "unfinished", 900, NAN);
	put_task(store, run, 4, "IS.1", "waiting", 990, NAN);
	put_task(store, run, 5, "CG.2", "failed", 800, 810);
	put_task(store, run, 6, "CG.2", "waiting", 1000, NAN);
	store_close(store);
	summary = load(dir);
	g_assert_true(summary->shared);
	tasks = stretch_tasks(summary->store, summary->runs->pdata[0], NULL);
	g_assert_cmpuint(tasks->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < tasks->len; i++)
		g_assert_cmpfloat(fabs(g_array_index(tasks, struct stretch_task, i).bounded -
				       expected[i]),
				  <, 1e-12);
	g_assert_true(stretch_of_run(summary->store, summary->runs->pdata[0], &stretch, NULL));
	g_assert_cmpuint(stretch.tasks, ==, 6);
	g_assert_cmpuint(stretch.unfinished, ==, 3);
	g_assert_cmpfloat(fabs(stretch.max - 200.0 / 30), <, 1e-12);
	g_assert_cmpfloat(fabs(stretch.mean - (2 + 2 + 1 + 2.5 + 1 + 200.0 / 30) / 6), <, 1e-12);
	g_assert_cmpfloat(summary_stretch(summary, summary->runs->pdata[0]), ==, stretch.mean);
	g_assert_cmpuint(summary_cell(summary, "greedy", 1)->unfinished, ==, 3);
	fixture_remove(dir);
}

/* A type that no estimate is known of: nothing can be said. */
static void test_unknown(void)
{
	struct store *store;
	char *dir = directory_new(true, &store);
	int64_t run = put_run(store, true, "greedy", 1, 0);
	g_autoptr(summary_t) summary = NULL;

	put_task(store, run, 0, "IS.1", "completed", 0, 80);
	put_task(store, run, 1, "IS.4", "completed", 0, 80);
	store_close(store);
	summary = load(dir);
	g_assert_true(isnan(summary_cell(summary, "greedy", 1)->stretch_mean));
	fixture_remove(dir);
}

/* Utilities say the opposite on either side: they do not count. */
static const struct shape short_first[] = {{"greedy", 60, 1},
					   {"greedy-pmtn", 90, 2},
					   {"easy", 150, 3},
					   {NULL}};
static const struct shape same_order[] = {{"greedy", 65, 3},
					  {"greedy-pmtn", 99, 2},
					  {"easy", 130, 1},
					  {NULL}};
static const struct shape long_first[] = {{"greedy", 150, 1},
					  {"greedy-pmtn", 90, 2},
					  {"easy", 60, 3},
					  {NULL}};

static void test_agree(void)
{
	struct side measured = side_new(short_first, true, 3);
	struct side simulated = side_new(same_order, false, 3);
	g_autoptr(compare_t) compare = compare_sides(&measured, &simulated);
	const struct compare_pair *pair = &g_array_index(compare->pairs, struct compare_pair, 0);
	const struct compare_rank *all =
		&g_array_index(compare->ranks, struct compare_rank, compare->ranks->len - 1);
	g_autofree char *text = compare_text(compare);
	g_autoptr(json_t) document = compare_json(compare);

	g_assert_cmpint(compare->measure, ==, COMPARE_BY_STRETCH);
	g_assert_cmpint(compare->verdict, ==, COMPARE_AGREE);
	g_assert_cmpuint(compare->same, ==, 3);
	g_assert_cmpfloat(all->tau_b, ==, 1);
	g_assert_cmpint(pair->sides[0].basis, ==, COMPARE_BASIS_REPEATS);
	g_assert_cmpfloat(fabs(pair->sides[0].interval.value + 30.0 / 40), <, 1e-9);
	g_assert_nonnull(strstr(text, "Differences of stretch"));
	g_assert_nonnull(strstr(text, "have the same order by stretch"));
	g_assert_cmpstr(json_string_value(json_object_get(document, "ranked_by")), ==, "stretch");
	side_clear(&measured);
	side_clear(&simulated);
}

static void test_differ(void)
{
	struct side measured = side_new(short_first, true, 3);
	struct side simulated = side_new(long_first, false, 3);
	g_autoptr(compare_t) compare = compare_sides(&measured, &simulated);

	g_assert_cmpint(compare->verdict, ==, COMPARE_DIFFER);
	g_assert_cmpuint(compare->opposite, ==, 3);
	side_clear(&measured);
	side_clear(&simulated);
}

/*
 * One run each: the interval is that of its tasks' stretches, around the difference of their means.
 */
static void test_single_runs_use_tasks(void)
{
	struct side measured = side_new(short_first, true, 1);
	struct side simulated = side_new(same_order, false, 3);
	g_autoptr(compare_t) compare = compare_sides(&measured, &simulated);
	const struct compare_pair *pair = &g_array_index(compare->pairs, struct compare_pair, 0);

	g_assert_cmpint(pair->sides[0].basis, ==, COMPARE_BASIS_TASKS);
	g_assert_cmpuint(pair->sides[0].interval.n, ==, TASKS);
	g_assert_cmpfloat(fabs(pair->sides[0].interval.value + 30.0 / 40), <, 1e-9);
	g_assert_cmpfloat(pair->sides[0].interval.high, <, 0);
	side_clear(&measured);
	side_clear(&simulated);
}

/* Trials whose tasks are not on record say themselves what their stretch was. */
static void test_trials_without_tasks(void)
{
	struct side measured = side_new(short_first, true, 3);
	struct side simulated = {0};
	g_autoptr(compare_t) compare = NULL;
	struct store *store;

	simulated.dir = directory_new(false, &store);
	for (const struct shape *shape = long_first; shape->policy; shape++) {
		put_shape(store, shape, false, 1);
		for (uint32_t r = 2; r <= 4; r++) {
			int64_t run = put_run(store, false, shape->policy, r, 1);
			g_autofree char *detail =
				g_strdup_printf("{\"mean\": %u.%u, \"max\": 9}",
						(uint32_t)shape->turnaround_s / 40, r);

			g_assert_true(store_add_event(store, run, 1, "stretch", detail, NULL));
		}
	}
	store_close(store);
	simulated.summary = load(simulated.dir);
	compare = compare_sides(&measured, &simulated);
	g_assert_cmpint(compare->verdict, ==, COMPARE_DIFFER);
	g_assert_cmpuint(g_array_index(compare->pairs, struct compare_pair, 0).trials.interval.n,
			 ==, 4);
	/* Three trials each say what did not complete; the tasks of the first one all did. */
	g_assert_cmpuint(simulated.summary->cells[0].unfinished, ==, 3 * UNFINISHED);
	side_clear(&measured);
	side_clear(&simulated);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/stretch/is bounded, and what did not complete counts", test_bounds);
	g_test_add_func("/stretch/is not known without estimates", test_unknown);
	g_test_add_func("/stretch/verdicts go by it: agree", test_agree);
	g_test_add_func("/stretch/verdicts go by it: differ", test_differ);
	g_test_add_func("/stretch/single runs use their tasks", test_single_runs_use_tasks);
	g_test_add_func("/stretch/trials without tasks tell their own", test_trials_without_tasks);
	return g_test_run();
}
