/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/accuracy.h"
#include "controller/report/compare.h"
#include "controller/report/compare_ratios.h"
#include "fixture.h"

/* A measured and a simulated experiment, laid side by side. */
struct pair {
	char *measured_dir, *simulated_dir;
	struct summary *measured, *simulated;
	struct compare_sides sides;
	struct compare *compare;
};

/* Compares the summaries of a pair, whose sides are in their place already. */
static void pair_compare(struct pair *pair)
{
	g_autoptr(GError) error = NULL;

	compare_free(pair->compare);
	pair->compare = compare_new(&pair->sides, false, &error);
	g_assert_no_error(error);
}

static struct pair *pair_new(const struct fixture *measured, const struct fixture *simulated)
{
	g_autoptr(GError) error = NULL;
	struct pair *pair = g_new0(struct pair, 1);

	pair->measured_dir = fixture_new(measured);
	pair->simulated_dir = fixture_new(simulated);
	pair->measured = summary_load(pair->measured_dir, &error);
	g_assert_no_error(error);
	pair->simulated = summary_load(pair->simulated_dir, &error);
	g_assert_no_error(error);
	compare_sides_init(&pair->sides, pair->measured, NULL, pair->simulated, NULL);
	pair_compare(pair);
	return pair;
}

static void pair_free(struct pair *pair)
{
	compare_free(pair->compare);
	compare_sides_clear(&pair->sides);
	summary_free(pair->measured);
	summary_free(pair->simulated);
	fixture_remove(pair->measured_dir);
	fixture_remove(pair->simulated_dir);
	g_free(pair);
}

static const struct compare_pair *find(const struct compare *compare, double limit,
				       const char *first, const char *second)
{
	for (guint i = 0; i < compare->pairs->len; i++) {
		const struct compare_pair *pair =
			&g_array_index(compare->pairs, struct compare_pair, i);

		if (pair->limit == limit && g_str_equal(pair->first, first) &&
		    g_str_equal(pair->second, second))
			return pair;
	}
	g_error("no pair %s, %s at %g", first, second, limit);
}

static const struct fixture measured_paper = {
	.measured = true, .runs = 4, .tasks = 40, .ratio = 1.05, .seed = 1, .cells = fixture_paper};
static const struct fixture simulated_paper = {.runs = 50, .seed = 1, .cells = fixture_paper};

static void test_agree(void)
{
	struct pair *pair = pair_new(&measured_paper, &simulated_paper);
	const struct compare_pair *easy = find(pair->compare, 0.7, "easy", "max-upe");
	const struct compare_pair *close = find(pair->compare, 0.7, "max-upe", "event-based");

	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_AGREE);
	g_assert_cmpuint(pair->compare->pairs->len, ==, 12);
	g_assert_cmpuint(pair->compare->opposite, ==, 0);
	g_assert_cmpint(easy->order, ==, COMPARE_SAME);
	g_assert_cmpint(easy->sides[0].basis, ==, COMPARE_BASIS_REPEATS);
	g_assert_cmpint(easy->sides[1].basis, ==, COMPARE_BASIS_TRIALS);
	g_assert_cmpuint(easy->sides[0].interval.n, ==, 4);
	g_assert_cmpuint(easy->sides[1].interval.n, ==, 50);
	g_assert_cmpfloat(easy->sides[0].interval.high, <, 0);
	g_assert_cmpint(close->order, ==, COMPARE_NOISY);
	pair_free(pair);
}

static void test_differ(void)
{
	const struct fixture simulated = {.runs = 50, .seed = 1, .cells = fixture_turned};
	struct pair *pair = pair_new(&measured_paper, &simulated);

	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_DIFFER);
	g_assert_cmpint(find(pair->compare, 0.7, "easy", "max-upe")->order, ==, COMPARE_OPPOSITE);
	g_assert_cmpint(find(pair->compare, 1, "easy", "max-upe")->order, ==, COMPARE_SAME);
	pair_free(pair);
}

static void test_too_noisy(void)
{
	const struct fixture measured = {
		.measured = true, .runs = 4, .ratio = 1, .seed = 5, .cells = fixture_noisy};
	const struct fixture simulated = {.runs = 20, .seed = 5, .cells = fixture_noisy};
	struct pair *pair = pair_new(&measured, &simulated);
	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_TOO_NOISY);
	g_assert_cmpuint(pair->compare->noisy, ==, 6);
	pair_free(pair);
}

static bool know_sd(struct compare_resampling *noise, enum compare_measure measure,
		    const char *policy, double limit, double *ret_sd, uint32_t *ret_repeats)
{
	*ret_sd = g_str_equal(policy, "max-upe") ? 4 : 3;
	*ret_repeats = 100;
	return true;
}

/* Where the simulated side alone is unclear, repeats do not help, and its trials may. */
static void test_advice(void)
{
	static const struct fixture_cell cells[] = {{"easy", 1, 80, 1, 8000},
						    {"max-upe", 1, 84, 1, 6000},
						    {NULL}};
	const struct fixture measured = {
		.measured = true, .runs = 4, .tasks = 40, .ratio = 1, .seed = 1, .cells = cells};
	const struct fixture simulated = {
		.runs = 20, .tasks = 40, .ratio = 1, .seed = 1, .cells = cells};
	struct compare_resampling noise = {know_sd};
	struct pair *pair = pair_new(&measured, &simulated);
	g_autofree char *none = compare_advice(pair->compare);
	g_autofree char *advice = NULL;
	g_autofree char *text = NULL;
	g_autoptr(json_t) document = NULL;

	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_AGREE);
	g_assert_null(none);
	pair->sides.side[0].noise = &noise;
	pair_compare(pair);
	g_assert_true(pair->compare->same_arrivals);
	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_TOO_NOISY);
	advice = compare_advice(pair->compare);
	g_assert_cmpstr(advice, ==,
			"more repeats do not help in 1 of 1 pairs, of which the measured interval "
			"leaves out 0 and the simulated one does not: compare --trials judges the "
			"simulation by the mean of its trials");
	text = compare_text(pair->compare);
	g_assert_nonnull(strstr(text, "\nWhat may decide it: more repeats do not help"));
	document = compare_json(pair->compare);
	g_assert_cmpstr(json_string_value(json_object_get(document, "advice")), ==, advice);
	pair_free(pair);
}

/* One repeat has no deviation of its own: the interval comes from the run's tasks, and is wider. */
static void test_single_repeat_uses_tasks(void)
{
	const struct fixture measured = {.measured = true,
					 .runs = 1,
					 .tasks = 40,
					 .ratio = 1,
					 .seed = 1,
					 .cells = fixture_paper};
	struct pair *pair = pair_new(&measured, &simulated_paper);
	const struct compare_pair *easy = find(pair->compare, 0.7, "easy", "max-upe");

	g_assert_cmpint(easy->sides[0].basis, ==, COMPARE_BASIS_TASKS);
	g_assert_cmpuint(easy->sides[0].interval.n, ==, 40);
	g_assert_cmpint(easy->order, ==, COMPARE_SAME);
	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_AGREE);
	pair_free(pair);
}

static void test_single_repeat_without_tasks_is_too_noisy(void)
{
	const struct fixture measured = {.measured = true,
					 .runs = 1,
					 .seed = 1,
					 .cells = fixture_paper};
	struct pair *pair = pair_new(&measured, &simulated_paper);

	g_assert_cmpint(find(pair->compare, 1, "easy", "max-upe")->sides[0].basis, ==,
			COMPARE_BASIS_NONE);
	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_TOO_NOISY);
	pair_free(pair);
}

static void test_simulated_repeats(void)
{
	struct compare_resampling noise = {know_sd};
	const struct fixture measured = {.measured = true,
					 .runs = 1,
					 .seed = 1,
					 .cells = fixture_paper};
	struct pair *pair = pair_new(&measured, &simulated_paper);
	const struct compare_pair *easy;

	pair->sides.side[0].noise = &noise;
	pair_compare(pair);
	easy = find(pair->compare, 1, "easy", "max-upe");
	g_assert_cmpint(easy->sides[0].basis, ==, COMPARE_BASIS_SIMULATED);
	g_assert_cmpint(easy->sides[1].basis, ==, COMPARE_BASIS_TRIALS);
	/* t(0.975) with 99 degrees of freedom is 1.98422; sd 5. */
	g_assert_cmpfloat(fabs(easy->sides[0].interval.high - easy->sides[0].interval.value -
			       5 * 1.98422),
			  <, 1e-4);
	pair_free(pair);
}

static void test_identical_policies_are_not_ranked(void)
{
	static const struct fixture_cell same[] = {{"max-upr", 1, 100, 0, 9900},
						   {"max-upe", 1, 100, 0, 9900},
						   {NULL}};
	const struct fixture measured = {.measured = true, .runs = 3, .seed = 1, .cells = same};
	const struct fixture simulated = {.runs = 3, .seed = 1, .cells = same};
	struct pair *pair = pair_new(&measured, &simulated);

	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_TOO_NOISY);
	g_assert_true(isnan(g_array_index(pair->compare->ranks, struct compare_rank, 0).tau_b));
	pair_free(pair);
}

static void test_accuracy(void)
{
	struct pair *pair = pair_new(&measured_paper, &simulated_paper);
	const GArray *accuracies = pair->compare->accuracies[0];
	const struct accuracy *first = &g_array_index(accuracies, struct accuracy, 0);
	const struct accuracy *all = &g_array_index(accuracies, struct accuracy, 2);

	g_assert_cmpuint(accuracies->len, ==, 3);
	g_assert_cmpstr(first->cluster, ==, "c1");
	g_assert_null(all->cluster);
	g_assert_cmpuint(all->n, ==, 8 * 4 * 40);
	g_assert_cmpfloat(fabs(all->median_error - 0.05), <, 0.005);
	g_assert_cmpfloat(fabs(all->median_ratio - 1.05), <, 0.005);
	/* All clusters are slow alike: their estimates are good. */
	g_assert_cmpuint(all->apart_n, >, all->n / 2);
	g_assert_cmpfloat(all->median_apart, <, 0.025);
	pair_free(pair);
}

static void test_accuracy_counts_simulated_seconds(void)
{
	const struct fixture measured = {
		.measured = true,
		.runs = 4,
		.tasks = 40,
		.ratio = 0.105,
		.seed = 1,
		.cells = fixture_paper,
		.capabilities = "{\"c1\": {\"speed\": 10.0}, \"c2\": {\"speed\": 10.0}}"};
	struct pair *pair = pair_new(&measured, &simulated_paper);
	const struct accuracy *all =
		&g_array_index(pair->compare->accuracies[0], struct accuracy, 2);
	g_autofree char *text = compare_text(pair->compare);

	g_assert_cmpfloat(fabs(all->median_ratio - 1.05), <, 0.005);
	g_assert_cmpfloat(fabs(all->median_error - 0.05), <, 0.005);
	g_assert_nonnull(strstr(text, "c2: simulated, 10 times as fast"));
	pair_free(pair);
}

/* The measured side is the first, in whatever order the two are given. */
static void test_order_does_not_matter(void)
{
	struct pair *pair = pair_new(&measured_paper, &simulated_paper);
	g_auto(compare_sides_t) turned = {0};
	g_autoptr(compare_t) compare = NULL;
	g_autofree char *text = compare_text(pair->compare);
	g_autofree char *again = NULL;

	compare_sides_init(&turned, pair->simulated, NULL, pair->measured, NULL);
	compare = compare_new(&turned, false, NULL);
	again = compare_text(compare);
	g_assert_cmpstr(again, ==, text);
	g_assert_cmpstr(turned.side[0].key, ==, "measured");
	pair_free(pair);
}

static const struct fixture measured_turned = {
	.measured = true, .runs = 5, .tasks = 40, .ratio = 1.2, .seed = 2, .cells = fixture_turned};

/* Two machines: each side has its own repeats, accuracies and name. */
static void test_two_measured(void)
{
	struct pair *pair = pair_new(&measured_paper, &measured_turned);
	const struct compare_pair *easy = find(pair->compare, 0.7, "easy", "max-upe");
	g_autofree char *name = g_path_get_basename(pair->simulated_dir);
	g_autofree char *text = compare_text(pair->compare);
	g_autoptr(json_t) document = compare_json(pair->compare);
	const json_t *b = json_object_get(document, "b");
	const json_t *first = json_array_get(json_object_get(document, "pairs"), 0);
	g_autofree char *accuracy = g_strdup_printf("completed tasks of all runs of %s", name);

	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_DIFFER);
	g_assert_cmpint(easy->order, ==, COMPARE_OPPOSITE);
	g_assert_cmpint(easy->sides[1].basis, ==, COMPARE_BASIS_REPEATS);
	g_assert_cmpuint(easy->sides[1].interval.n, ==, 5);
	g_assert_cmpstr(pair->sides.side[1].label, ==, name);
	g_assert_nonnull(strstr(text, accuracy));
	g_assert_null(strstr(text, "sim trials"));
	g_assert_cmpstr(json_string_value(json_object_get(b, "label")), ==, name);
	g_assert_cmpuint(json_array_size(json_object_get(b, "accuracy")), ==, 3);
	g_assert_nonnull(json_object_get(first, "a"));
	g_assert_nonnull(json_object_get(first, "b"));
	g_assert_null(json_object_get(first, "measured"));
	g_assert_null(json_object_get(document, "simulated_on"));
	g_assert_true(json_is_true(json_object_get(document, "same_arrivals")));
	pair_free(pair);
}

/* Each single run has the noise of its own directory. */
static void test_noise_is_that_of_the_side(void)
{
	struct compare_resampling noise = {know_sd};
	struct fixture single = measured_turned;
	const struct compare_pair *easy;
	struct pair *pair;

	single.runs = 1;
	pair = pair_new(&single, &single);
	pair->sides.side[1].noise = &noise;
	pair_compare(pair);
	easy = find(pair->compare, 1, "easy", "max-upe");
	g_assert_cmpint(easy->sides[0].basis, ==, COMPARE_BASIS_TASKS);
	g_assert_cmpint(easy->sides[1].basis, ==, COMPARE_BASIS_SIMULATED);
	pair_free(pair);
}

static void test_two_simulated(void)
{
	const struct fixture other = {.runs = 30, .seed = 7, .cells = fixture_paper};
	struct pair *pair = pair_new(&simulated_paper, &other);
	g_autofree char *text = compare_text(pair->compare);
	g_autoptr(json_t) document = compare_json(pair->compare);

	g_assert_cmpint(pair->compare->verdict, ==, COMPARE_AGREE);
	g_assert_cmpint(find(pair->compare, 1, "easy", "max-upe")->sides[0].basis, ==,
			COMPARE_BASIS_TRIALS);
	g_assert_null(strstr(text, "Execution times against"));
	g_assert_nonnull(strstr(text, "30 trials"));
	g_assert_null(json_object_get(json_object_get(document, "a"), "accuracy"));
	pair_free(pair);
}

/* What tells two directories apart names the sides. */
static void test_labels(void)
{
	static const struct {
		const char *a, *b, *label_a, *label_b;
	} cases[] = {
		{"monday", "tuesday", "monday", "tuesday"},
		{"/x/one/measured", "/x/two/measured", "one", "two"},
		{"./one/measured/", "two/../two//measured", "one", "two"},
		{"same", "same", "A", "B"},
		{"a-name-that-is-much-too-long-for-any-column", "b", "A", "B"},
		{"/x", "/y/x", "A", "B"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct summary a = {.path = (char *)cases[i].a, .measured = true};
		struct summary b = {.path = (char *)cases[i].b, .measured = true};
		g_auto(compare_sides_t) sides = {0};

		compare_sides_init(&sides, &a, NULL, &b, NULL);
		g_assert_cmpstr(sides.side[0].label, ==, cases[i].label_a);
		g_assert_cmpstr(sides.side[1].label, ==, cases[i].label_b);
		g_assert_cmpstr(sides.side[1].key, ==, "b");
	}
}

/* Ratios are taken per repeat, on both sides. */
static void test_ratios(void)
{
	static const struct fixture_cell exact[] = {{"easy", 1, 50, 0, 8000},
						    {"max-upe", 1, 75, 0, 6000},
						    {NULL}};
	static const struct fixture_cell other[] = {{"easy", 1, 50, 0, 8000},
						    {"max-upe", 1, 60, 0, 8000},
						    {NULL}};
	const struct fixture measured = {.measured = true, .runs = 3, .seed = 1, .cells = exact};
	const struct fixture simulated = {.runs = 4, .seed = 1, .cells = other};
	struct pair *pair = pair_new(&measured, &simulated);
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) ratios = compare_ratios(pair->compare, "easy", &error);
	const struct compare_ratio *upe = &g_array_index(ratios, struct compare_ratio, 1);
	g_autofree char *text = compare_ratios_text(pair->compare, ratios, "easy");
	g_autoptr(json_t) document = compare_ratios_json(pair->compare, ratios, "easy");
	const json_t *row = json_array_get(json_object_get(document, "ratios"), 1);
	const json_t *utility = json_object_get(json_object_get(row, "simulated"), "utility");

	g_assert_no_error(error);
	g_assert_cmpuint(ratios->len, ==, 2);
	g_assert_cmpstr(upe->policy, ==, "max-upe");
	g_assert_cmpfloat(fabs(upe->of[0][COMPARE_BY_UTILITY].value - 1.5), <, 1e-12);
	g_assert_cmpuint(upe->of[0][COMPARE_BY_UTILITY].n, ==, 3);
	g_assert_cmpfloat(fabs(upe->of[0][COMPARE_ENERGY_J].value - 0.75), <, 1e-12);
	g_assert_cmpfloat(fabs(upe->of[1][COMPARE_BY_UTILITY].value - 1.2), <, 1e-12);
	g_assert_nonnull(strstr(text, "Relative to easy\n"));
	g_assert_nonnull(strstr(text, "  mean of the ratios per repeat or trial, "));
	g_assert_null(strstr(text, "none at"));
	g_assert_cmpfloat(fabs(json_number_value(json_object_get(utility, "ratio")) - 1.2), <,
			  1e-12);
	g_assert_null(compare_ratios(pair->compare, "pam", &error));
	g_assert_error(error, COMPARE_ERROR, COMPARE_ERROR_BASELINE);
	pair_free(pair);
}

/*
 * The notes say where the ratios of the simulation are those of single runs, and which limits have
 * none.
 */
static void test_notes_of_ratios(void)
{
	static const struct fixture_cell cells[] = {{"easy", 1, 50, 0, 8000},
						    {"max-upe", 1, 75, 0, 6000},
						    {"max-upe", 0.7, 60, 0, 6000},
						    {"random", 0.7, 60, 0, 6000},
						    {NULL}};
	struct compare_resampling noise = {know_sd};
	const struct fixture measured = {
		.measured = true, .runs = 1, .tasks = 40, .ratio = 1, .seed = 1, .cells = cells};
	const struct fixture simulated = {
		.runs = 2, .tasks = 40, .ratio = 1, .seed = 1, .cells = cells};
	struct pair *pair = pair_new(&measured, &simulated);
	g_autoptr(GArray) ratios = NULL;
	g_autoptr(json_t) document = NULL;
	g_autofree char *text = NULL;
	const json_t *missing;

	pair->sides.side[0].noise = &noise;
	pair_compare(pair);
	g_assert_true(pair->compare->same_arrivals);
	ratios = compare_ratios(pair->compare, "easy", NULL);
	text = compare_ratios_text(pair->compare, ratios, "easy");
	g_assert_nonnull(strstr(text, "  meas: mean of the ratios per repeat, with 95 %"));
	g_assert_nonnull(strstr(text, "  sim: ratio of the one simulated run each"));
	g_assert_nonnull(strstr(text, "  none at 70 %: not both sides have easy there\n"));
	document = compare_ratios_json(pair->compare, ratios, "easy");
	missing = json_object_get(document, "missing_limits");
	g_assert_cmpuint(json_array_size(missing), ==, 1);
	g_assert_cmpfloat(json_number_value(json_array_get(missing, 0)), ==, 0.7);
	pair_free(pair);
}

static void test_nothing_in_common(void)
{
	static const struct fixture_cell other[] = {{"random", 1, 100, 0, 9900},
						    {"easy", 1, 100, 0, 9900},
						    {NULL}};
	const struct fixture simulated = {.runs = 2, .seed = 1, .cells = other};
	g_autoptr(GError) error = NULL;
	char *a = fixture_new(&measured_paper);
	char *b = fixture_new(&simulated);
	g_autoptr(summary_t) first = summary_load(a, NULL);
	g_autoptr(summary_t) second = summary_load(b, NULL);
	g_auto(compare_sides_t) sides = {0};

	compare_sides_init(&sides, first, NULL, second, NULL);
	g_assert_null(compare_new(&sides, false, &error));
	g_assert_error(error, COMPARE_ERROR, COMPARE_ERROR_NOTHING);
	g_assert_nonnull(
		strstr(error->message, " has easy, max-upr, max-upe, event-based at 100 %; "));
	g_assert_true(g_str_has_suffix(error->message, " has random, easy at 100 %"));
	fixture_remove(a);
	fixture_remove(b);
}

static void test_text_and_json(void)
{
	struct pair *pair = pair_new(&measured_paper, &simulated_paper);
	g_autofree char *text = compare_text(pair->compare);
	g_autoptr(json_t) document = compare_json(pair->compare);
	static const char *const words[] = {
		"TCG",
		"quotas",
		"model",
		"Verdict: agree",
		"4 repeats of one workload",
		"50 trials",
		"median |measured/ETC - 1|",
		"1.50 busy cores",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
		if (!strstr(text, words[i]))
			g_error("\"%s\" is missing in:\n%s", words[i], text);
	g_assert_cmpstr(json_string_value(json_object_get(document, "verdict")), ==, "agree");
	g_assert_cmpuint(json_array_size(json_object_get(document, "pairs")), ==, 12);
	g_assert_cmpuint(json_array_size(json_object_get(document, "ranks")), ==, 3);
	pair_free(pair);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/compare/like orders agree", test_agree);
	g_test_add_func("/compare/a clear opposite order differs", test_differ);
	g_test_add_func("/compare/small differences are too noisy", test_too_noisy);
	g_test_add_func("/compare/a single repeat is judged by its tasks",
			test_single_repeat_uses_tasks);
	g_test_add_func("/compare/advice where the simulated side alone is unclear", test_advice);
	g_test_add_func("/compare/a single repeat without tasks is too noisy",
			test_single_repeat_without_tasks_is_too_noisy);
	g_test_add_func("/compare/a single repeat is judged by simulated repeats",
			test_simulated_repeats);
	g_test_add_func("/compare/identical policies are not ranked",
			test_identical_policies_are_not_ranked);
	g_test_add_func("/compare/execution times are held against estimates", test_accuracy);
	g_test_add_func("/compare/execution times are simulated ones where time is",
			test_accuracy_counts_simulated_seconds);
	g_test_add_func("/compare/measured and simulated in any order", test_order_does_not_matter);
	g_test_add_func("/compare/measured with measured", test_two_measured);
	g_test_add_func("/compare/each side has its own noise", test_noise_is_that_of_the_side);
	g_test_add_func("/compare/simulated with simulated", test_two_simulated);
	g_test_add_func("/compare/sides are called after their directories", test_labels);
	g_test_add_func("/compare/ratios to a baseline", test_ratios);
	g_test_add_func("/compare/notes of ratios to a baseline", test_notes_of_ratios);
	g_test_add_func("/compare/nothing in common is bad input", test_nothing_in_common);
	g_test_add_func("/compare/text and JSON say the same", test_text_and_json);
	return g_test_run();
}
