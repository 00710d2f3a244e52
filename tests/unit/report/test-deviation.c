/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/compare.h"
#include "controller/report/deviation.h"
#include "controller/store/store.h"
#include "fixture.h"

/* A task: when it arrived, started and ended. */
struct times {
	double arrival_s, started_s, ended_s;
};

/* A run directory under construction. */
struct making {
	char *dir;
	struct store *store;
	bool measured;
	uint32_t seed;        /* of the runs that are added */
	const char *ended_by; /* the same */
};

static void good(bool done, GError **error)
{
	g_assert_no_error(*error);
	g_assert_true(done);
}

static struct making making_new(bool measured)
{
	g_autoptr(GError) error = NULL;
	struct making making = {.dir = g_dir_make_tmp("virtbed-report-XXXXXX", &error),
				.measured = measured,
				.seed = 1,
				.ended_by = "time"};

	making.store = store_open(making.dir, true, &error);
	g_assert_no_error(error);
	good(store_set_meta(making.store, "kind", measured ? "measured" : "simulated", &error),
	     &error);
	return making;
}

/* A run of two tasks, and of a third that never started. */
static void add_run(struct making *making, const char *policy, uint32_t repeat, double energy_j,
		    double utility, const struct times times[2])
{
	g_autoptr(GError) error = NULL;
	struct store_run run = {
		.policy = (char *)policy,
		.limit = 1,
		.limit_j = 1e4,
		.repeat = repeat,
		.seed = making->seed,
		.measured = making->measured,
		.ended_by = (char *)making->ended_by,
		.ended_s = 500,
		.utility = utility,
		.energy_j = energy_j,
		.host_load = NAN,
		.tasks_arrived = 3,
		.tasks_completed = 2,
	};

	good(store_add_run(making->store, &run, &error), &error);
	for (uint32_t i = 0; i < 3; i++) {
		const bool started = i < 2;
		const struct store_task task = {
			.run = run.run,
			.task = i,
			.type = (char *)"a",
			.arrival_s = started ? times[i].arrival_s : 400,
			.utility_max = 1,
			.state = (char *)(started ? "completed" : "waiting"),
			.cluster = (char *)(started ? "c1" : NULL),
			.nodes = (char *)"0",
			.attempts = 1,
			.planned_start_s = NAN,
			.started_s = started ? times[i].started_s : (double)NAN,
			.ended_s = started ? times[i].ended_s : (double)NAN,
			.exec_s = NAN,
			.etc_s = NAN,
			.energy_j = NAN,
			.eec_j = NAN,
		};

		good(store_put_task(making->store, &task, &error), &error);
	}
}

static struct summary *finish(struct making *making)
{
	g_autoptr(GError) error = NULL;
	struct summary *summary;

	store_close(making->store);
	summary = summary_load(making->dir, &error);
	g_assert_no_error(error);
	return summary;
}

static bool is(double value, double expected)
{
	return fabs(value - expected) < 1e-9;
}

/* Two measured repeats against one simulated run of each policy on their arrivals, and one not. */
static void test_definitions(void)
{
	/* makespans 110 and 130, mean waits 5 and 15 */
	static const struct times first[] = {{10, 10, 50}, {20, 30, 120}};
	static const struct times again[] = {{10, 20, 60}, {20, 40, 140}};
	/* makespan 90, mean wait 8 */
	static const struct times simulated[] = {{10, 14, 40}, {20, 32, 100}};
	static const struct times other[] = {{1, 2, 300}, {2, 3, 400}};
	struct making a = making_new(true);
	struct making b = making_new(false);
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) measured = NULL;
	g_autoptr(summary_t) simulations = NULL;
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(GArray) deviations = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	const struct deviation *easy, *upe, *median;

	add_run(&a, "easy", 1, 1000, 40, first);
	add_run(&a, "max-upe", 1, 800, 50, first);
	add_run(&a, "easy", 2, 1200, 44, again);
	add_run(&a, "max-upe", 2, 800, 50, first);
	add_run(&b, "easy", 1, 990, 63, simulated);
	add_run(&b, "max-upe", 1, 880, 50, first);
	add_run(&b, "easy", 2, 5000, 1, other);
	add_run(&b, "max-upe", 2, 5000, 1, other);
	measured = finish(&a);
	simulations = finish(&b);
	compare_sides_init(&sides, measured, NULL, simulations, NULL);
	deviations = deviation_measure(&sides, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(deviations->len, ==, 4);
	easy = &g_array_index(deviations, struct deviation, 0);
	upe = &g_array_index(deviations, struct deviation, 1);
	median = &g_array_index(deviations, struct deviation, 2);
	g_assert_cmpstr(easy->policy, ==, "easy");
	g_assert_true(is(easy->value[DEVIATION_MAKESPAN][0], 120));
	g_assert_true(is(easy->value[DEVIATION_MAKESPAN][1], 90));
	g_assert_true(is(easy->relative[DEVIATION_MAKESPAN], -0.25));
	g_assert_true(is(easy->value[DEVIATION_WAIT][0], 10));
	g_assert_true(is(easy->relative[DEVIATION_WAIT], -0.2));
	g_assert_true(is(easy->relative[DEVIATION_ENERGY], -0.1));
	g_assert_true(is(easy->relative[DEVIATION_UTILITY], 0.5));
	g_assert_true(is(upe->relative[DEVIATION_ENERGY], 0.1));
	g_assert_true(is(upe->relative[DEVIATION_MAKESPAN], 0));
	g_assert_null(median->policy);
	g_assert_true(is(median->relative[DEVIATION_MAKESPAN], 0.125));
	g_assert_true(is(median->relative[DEVIATION_ENERGY], 0.1));
	g_assert_true(isnan(g_array_index(deviations, struct deviation, 3).limit));
	text = deviation_text(&sides, deviations);
	g_assert_nonnull(strstr(text, "Deviation of simulated from measured"));
	g_assert_nonnull(strstr(text, "-25.0"));
	document = deviation_json(&sides, deviations);
	g_assert_cmpuint(json_array_size(json_object_get(document, "rows")), ==, 2);
	g_assert_cmpuint(json_array_size(json_object_get(document, "medians")), ==, 2);
	fixture_remove(a.dir);
	fixture_remove(b.dir);
}

/* Other arrivals make no deviations. */
static void test_other_arrivals(void)
{
	static const struct times first[] = {{10, 10, 50}, {20, 30, 120}};
	static const struct times other[] = {{11, 11, 50}, {20, 30, 120}};
	struct making a = making_new(true);
	struct making b = making_new(true);
	g_autoptr(summary_t) one = NULL;
	g_autoptr(summary_t) two = NULL;
	g_auto(compare_sides_t) sides = {0};
	g_autoptr(GArray) deviations = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;

	add_run(&a, "easy", 1, 1000, 40, first);
	add_run(&b, "easy", 1, 1000, 40, other);
	one = finish(&a);
	two = finish(&b);
	compare_sides_init(&sides, one, NULL, two, NULL);
	deviations = deviation_measure(&sides, NULL);
	text = deviation_text(&sides, deviations);
	g_assert_cmpuint(deviations->len, ==, 0);
	g_assert_cmpstr(text, ==, "");
	document = deviation_json(&sides, deviations);
	g_assert_true(json_is_null(document));
	fixture_remove(a.dir);
	fixture_remove(b.dir);
}

/* The deviations of two directories, which are removed. The caller frees. */
static GArray *deviations_of(struct making *a, struct making *b)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(summary_t) one = finish(a);
	g_autoptr(summary_t) two = finish(b);
	g_auto(compare_sides_t) sides = {0};
	GArray *deviations;

	compare_sides_init(&sides, one, NULL, two, NULL);
	deviations = deviation_measure(&sides, &error);
	g_assert_no_error(error);
	/* Names are borrowed from the summaries. */
	for (guint i = 0; i < deviations->len; i++) {
		struct deviation *deviation = &g_array_index(deviations, struct deviation, i);

		deviation->policy = g_intern_string(deviation->policy);
	}
	fixture_remove(a->dir);
	fixture_remove(b->dir);
	return deviations;
}

/* Two simulations, where trial 1 of a policy was aborted on one side: the others are compared. */
static void test_aborted_trial(void)
{
	static const struct times first[] = {{10, 10, 50}, {20, 30, 120}};
	static const struct times other[] = {{1, 2, 300}, {2, 3, 400}};

	for (guint side = 0; side < 2; side++) {
		struct making making[2] = {making_new(false), making_new(false)};
		g_autoptr(GArray) deviations = NULL;

		for (guint i = 0; i < 2; i++) {
			making[i].ended_by = i == side ? "aborted" : "time";
			add_run(&making[i], "easy", 1, 1000, 40, first);
			making[i].ended_by = "time";
			add_run(&making[i], "max-upe", 1, 800, 50, first);
			add_run(&making[i], "easy", 2, 5000, 1, other);
			add_run(&making[i], "max-upe", 2, 5000, 1, other);
		}
		deviations = deviations_of(&making[0], &making[1]);
		g_assert_cmpuint(deviations->len, ==, 3);
		g_assert_cmpstr(g_array_index(deviations, struct deviation, 0).policy, ==,
				"max-upe");
	}
}

/* Tasks that were given are the same with every seed. */
static void test_given_tasks(void)
{
	static const struct times first[] = {{10, 10, 50}, {20, 30, 120}};
	static const char *const digests[] = {NULL, "5e55"};

	for (gsize i = 0; i < G_N_ELEMENTS(digests); i++) {
		struct making a = making_new(true);
		struct making b = making_new(false);
		g_autoptr(GError) error = NULL;
		g_autoptr(GArray) deviations = NULL;

		b.seed = 2;
		good(store_set_meta(a.store, "tasks_sha256", digests[i], &error), &error);
		good(store_set_meta(b.store, "tasks_sha256", digests[i], &error), &error);
		add_run(&a, "easy", 1, 1000, 40, first);
		add_run(&b, "easy", 1, 1000, 40, first);
		deviations = deviations_of(&a, &b);
		g_assert_cmpuint(deviations->len, ==, digests[i] ? 3 : 0);
	}
}

/* Every repeat of a measurement has its arrivals, also where the first one was left out. */
static void test_left_out_repeat(void)
{
	static const struct times first[] = {{10, 10, 50}, {20, 30, 120}};
	struct making a = making_new(true);
	struct making b = making_new(true);
	g_autoptr(GArray) deviations = NULL;

	add_run(&a, "easy", 1, 1000, 40, first);
	add_run(&a, "max-upe", 1, 800, 50, first);
	add_run(&b, "max-upe", 1, 800, 50, first);
	b.ended_by = "aborted";
	add_run(&b, "easy", 1, 1000, 40, first);
	b.ended_by = "time";
	add_run(&b, "easy", 2, 1000, 40, first);
	deviations = deviations_of(&a, &b);
	g_assert_cmpuint(deviations->len, ==, 4);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/deviation/definitions", test_definitions);
	g_test_add_func("/deviation/other arrivals make none", test_other_arrivals);
	g_test_add_func("/deviation/a trial that was aborted leaves the others",
			test_aborted_trial);
	g_test_add_func("/deviation/given tasks depend on no seed", test_given_tasks);
	g_test_add_func("/deviation/any measured repeat has the arrivals", test_left_out_repeat);
	return g_test_run();
}
