/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/accuracy.h"
#include "controller/report/compare.h"
#include "fixture.h"

/* A measured and a simulated experiment, laid side by side. */
struct pair {
	char *measured_dir, *simulated_dir;
	struct summary *measured, *simulated;
	struct compare *compare;
};

static struct pair pair_new(const struct fixture *measured, const struct fixture *simulated)
{
	g_autoptr(GError) error = NULL;
	struct pair pair = {fixture_new(measured), fixture_new(simulated)};

	pair.measured = summary_load(pair.measured_dir, &error);
	g_assert_no_error(error);
	pair.simulated = summary_load(pair.simulated_dir, &error);
	g_assert_no_error(error);
	pair.compare = compare_new(pair.measured, pair.simulated, NULL, false, &error);
	g_assert_no_error(error);
	return pair;
}

static void pair_clear(struct pair *pair)
{
	compare_free(pair->compare);
	summary_free(pair->measured);
	summary_free(pair->simulated);
	fixture_remove(pair->measured_dir);
	fixture_remove(pair->simulated_dir);
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
	struct pair pair = pair_new(&measured_paper, &simulated_paper);
	const struct compare_pair *easy = find(pair.compare, 0.7, "easy", "max-upe");
	const struct compare_pair *close = find(pair.compare, 0.7, "max-upe", "event-based");

	g_assert_cmpint(pair.compare->verdict, ==, COMPARE_AGREE);
	g_assert_cmpuint(pair.compare->pairs->len, ==, 12);
	g_assert_cmpuint(pair.compare->opposite, ==, 0);
	g_assert_cmpint(easy->order, ==, COMPARE_SAME);
	g_assert_cmpint(easy->measured.basis, ==, COMPARE_BASIS_REPEATS);
	g_assert_cmpint(easy->simulated.basis, ==, COMPARE_BASIS_TRIALS);
	g_assert_cmpuint(easy->measured.interval.n, ==, 4);
	g_assert_cmpuint(easy->simulated.interval.n, ==, 50);
	g_assert_cmpfloat(easy->measured.interval.high, <, 0);
	g_assert_cmpint(close->order, ==, COMPARE_NOISY);
	pair_clear(&pair);
}

static void test_differ(void)
{
	const struct fixture simulated = {.runs = 50, .seed = 1, .cells = fixture_turned};
	struct pair pair = pair_new(&measured_paper, &simulated);

	g_assert_cmpint(pair.compare->verdict, ==, COMPARE_DIFFER);
	g_assert_cmpint(find(pair.compare, 0.7, "easy", "max-upe")->order, ==, COMPARE_OPPOSITE);
	g_assert_cmpint(find(pair.compare, 1, "easy", "max-upe")->order, ==, COMPARE_SAME);
	pair_clear(&pair);
}

static void test_too_noisy(void)
{
	const struct fixture measured = {
		.measured = true, .runs = 4, .ratio = 1, .seed = 5, .cells = fixture_noisy};
	const struct fixture simulated = {.runs = 20, .seed = 5, .cells = fixture_noisy};
	struct pair pair = pair_new(&measured, &simulated);
	g_assert_cmpint(pair.compare->verdict, ==, COMPARE_TOO_NOISY);
	g_assert_cmpuint(pair.compare->noisy, ==, 6);
	pair_clear(&pair);
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
	struct pair pair = pair_new(&measured, &simulated_paper);
	const struct compare_pair *easy = find(pair.compare, 0.7, "easy", "max-upe");

	g_assert_cmpint(easy->measured.basis, ==, COMPARE_BASIS_TASKS);
	g_assert_cmpuint(easy->measured.interval.n, ==, 40);
	g_assert_cmpint(easy->order, ==, COMPARE_SAME);
	g_assert_cmpint(pair.compare->verdict, ==, COMPARE_AGREE);
	pair_clear(&pair);
}

static void test_single_repeat_without_tasks_is_too_noisy(void)
{
	const struct fixture measured = {.measured = true,
					 .runs = 1,
					 .seed = 1,
					 .cells = fixture_paper};
	struct pair pair = pair_new(&measured, &simulated_paper);

	g_assert_cmpint(find(pair.compare, 1, "easy", "max-upe")->measured.basis, ==,
			COMPARE_BASIS_NONE);
	g_assert_cmpint(pair.compare->verdict, ==, COMPARE_TOO_NOISY);
	pair_clear(&pair);
}

static bool know_sd(struct compare_resampling *noise, enum compare_measure measure,
		    const char *policy, double limit, double *ret_sd, uint32_t *ret_repeats)
{
	*ret_sd = g_str_equal(policy, "max-upe") ? 4 : 3;
	*ret_repeats = 100;
	return true;
}

static void test_simulated_repeats(void)
{
	struct compare_resampling noise = {know_sd};
	const struct fixture measured = {.measured = true,
					 .runs = 1,
					 .seed = 1,
					 .cells = fixture_paper};
	struct pair pair = pair_new(&measured, &simulated_paper);
	g_autoptr(compare_t) compare =
		compare_new(pair.measured, pair.simulated, &noise, false, NULL);
	const struct compare_pair *easy = find(compare, 1, "easy", "max-upe");

	g_assert_cmpint(easy->measured.basis, ==, COMPARE_BASIS_SIMULATED);
	g_assert_cmpint(easy->simulated.basis, ==, COMPARE_BASIS_TRIALS);
	/* t(0.975) with 99 degrees of freedom is 1.98422; sd 5. */
	g_assert_cmpfloat(fabs(easy->measured.interval.high - easy->measured.interval.value -
			       5 * 1.98422),
			  <, 1e-4);
	pair_clear(&pair);
}

static void test_identical_policies_are_not_ranked(void)
{
	static const struct fixture_cell same[] = {{"max-upr", 1, 100, 0, 9900},
						   {"max-upe", 1, 100, 0, 9900},
						   {NULL}};
	const struct fixture measured = {.measured = true, .runs = 3, .seed = 1, .cells = same};
	const struct fixture simulated = {.runs = 3, .seed = 1, .cells = same};
	struct pair pair = pair_new(&measured, &simulated);

	g_assert_cmpint(pair.compare->verdict, ==, COMPARE_TOO_NOISY);
	g_assert_true(isnan(g_array_index(pair.compare->ranks, struct compare_rank, 0).tau_b));
	pair_clear(&pair);
}

static void test_accuracy(void)
{
	struct pair pair = pair_new(&measured_paper, &simulated_paper);
	const GArray *accuracies = pair.compare->accuracies;
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
	pair_clear(&pair);
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
	struct pair pair = pair_new(&measured, &simulated_paper);
	const struct accuracy *all = &g_array_index(pair.compare->accuracies, struct accuracy, 2);
	g_autofree char *text = compare_text(pair.compare);

	g_assert_cmpfloat(fabs(all->median_ratio - 1.05), <, 0.005);
	g_assert_cmpfloat(fabs(all->median_error - 0.05), <, 0.005);
	g_assert_nonnull(strstr(text, "c2: simulated, 10 times as fast"));
	pair_clear(&pair);
}

static void test_kinds_are_checked(void)
{
	g_autofree char *dir = NULL;
	struct pair pair = pair_new(&measured_paper, &simulated_paper);
	g_autoptr(GError) error = NULL;

	g_assert_null(compare_new(pair.simulated, pair.measured, NULL, false, &error));
	g_assert_error(error, COMPARE_ERROR, COMPARE_ERROR_KIND);
	g_clear_error(&error);
	g_assert_null(compare_new(pair.measured, pair.measured, NULL, false, &error));
	g_assert_error(error, COMPARE_ERROR, COMPARE_ERROR_KIND);
	pair_clear(&pair);
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

	g_assert_null(compare_new(first, second, NULL, false, &error));
	g_assert_error(error, COMPARE_ERROR, COMPARE_ERROR_NOTHING);
	fixture_remove(a);
	fixture_remove(b);
}

static void test_text_and_json(void)
{
	struct pair pair = pair_new(&measured_paper, &simulated_paper);
	g_autofree char *text = compare_text(pair.compare);
	g_autoptr(json_t) document = compare_json(pair.compare);
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
	pair_clear(&pair);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/compare/like orders agree", test_agree);
	g_test_add_func("/compare/a clear opposite order differs", test_differ);
	g_test_add_func("/compare/small differences are too noisy", test_too_noisy);
	g_test_add_func("/compare/a single repeat is judged by its tasks",
			test_single_repeat_uses_tasks);
	g_test_add_func("/compare/a single repeat without tasks is too noisy",
			test_single_repeat_without_tasks_is_too_noisy);
	g_test_add_func("/compare/a single repeat is judged by simulated repeats",
			test_simulated_repeats);
	g_test_add_func("/compare/identical policies are not ranked",
			test_identical_policies_are_not_ranked);
	g_test_add_func("/compare/execution times are held against estimates", test_accuracy);
	g_test_add_func("/compare/execution times are simulated ones where time is",
			test_accuracy_counts_simulated_seconds);
	g_test_add_func("/compare/measured and simulated are told apart", test_kinds_are_checked);
	g_test_add_func("/compare/nothing in common is bad input", test_nothing_in_common);
	g_test_add_func("/compare/text and JSON say the same", test_text_and_json);
	return g_test_run();
}
