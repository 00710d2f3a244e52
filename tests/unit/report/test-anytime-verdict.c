/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/report/compare.h"
#include "controller/report/compare_brief.h"
#include "controller/report/compare_ratios.h"
#include "fixture.h"

/* Runs that were made until their verdict, beside simulated ones. */
struct bed {
	char *measured_dir, *simulated_dir;
	struct summary *measured, *simulated;
	struct compare_sides sides;
	struct compare *compare;
};

static char *easy_upr[] = {(char *)"easy", (char *)"max-upr", NULL};
static char *upe_upr[] = {(char *)"max-upe", (char *)"max-upr", NULL};
static char *upe_event[] = {(char *)"max-upe", (char *)"event-based", NULL};
static double full[] = {1};
static double low[] = {0.7};

/* Makes the runs of `dir` those of a verdict on two pairs and a control at the full limit. */
static void put_verdict(const char *dir, char **control)
{
	static const char *const names[] = {"easy", "max-upr", "max-upe", "event-based"};
	static const double limits[] = {1, 0.7};
	const struct verdict_policies policies = {names, names, 4, limits, 2};
	struct config_verdict_pair pairs[] = {
		{.policies = easy_upr, .policies_count = 2, .limits = full, .limits_count = 1},
		{.policies = upe_upr, .policies_count = 2, .limits = low, .limits_count = 1},
	};
	struct config_verdict_pair controls[] = {
		{.policies = control, .policies_count = 2, .limits = full, .limits_count = 1},
	};
	const struct config_verdict section = {
		.pairs = pairs,
		.pairs_count = 2,
		.controls = controls,
		.controls_count = 1,
		.alpha = 0.05,
		.equal_within = 0.05,
	};
	g_autoptr(GError) error = NULL;
	g_autoptr(store_t) store = store_open(dir, false, &error);
	g_autoptr(verdict_plan_t) plan = verdict_plan_new(&section, &policies, 20, &error);

	g_assert_no_error(error);
	g_assert_true(verdict_plan_save(plan, store, &error));
	g_assert_true(store_set_meta(store, "verdict_used_s", "3600", &error));
	g_assert_true(store_set_meta(store, "verdict_end", "{\"why\":\"hours\"}", &error));
}

static void bed_init(struct bed *bed, const struct fixture_cell *measured,
		     const struct fixture_cell *simulated, char **control)
{
	const struct fixture a = {
		.measured = true, .runs = 6, .ratio = 1, .seed = 1, .cells = measured};
	const struct fixture b = {.runs = 50, .ratio = 1, .seed = 2, .cells = simulated};
	g_autoptr(GError) error = NULL;

	bed->measured_dir = fixture_new(&a);
	bed->simulated_dir = fixture_new(&b);
	put_verdict(bed->measured_dir, control);
	bed->measured = summary_load(bed->measured_dir, &error);
	g_assert_no_error(error);
	bed->simulated = summary_load(bed->simulated_dir, &error);
	g_assert_no_error(error);
	compare_sides_init(&bed->sides, bed->measured, NULL, bed->simulated, NULL);
	bed->compare = compare_new(&bed->sides, false, &error);
	g_assert_no_error(error);
}

static void bed_clear(struct bed *bed)
{
	compare_free(bed->compare);
	compare_sides_clear(&bed->sides);
	summary_free(bed->measured);
	summary_free(bed->simulated);
	fixture_remove(bed->measured_dir);
	fixture_remove(bed->simulated_dir);
}

/* Only what was asked for is compared, and never by an interval of a fixed number of runs. */
static void test_intervals_are_those_of_the_verdict(void)
{
	struct bed bed;

	bed_init(&bed, fixture_paper, fixture_paper, upe_event);
	g_assert_nonnull(bed.measured->verdict);
	g_assert_null(bed.simulated->verdict);
	g_assert_cmpuint(bed.compare->pairs->len, ==, 2);
	for (guint i = 0; i < 2; i++) {
		const struct compare_pair *pair =
			&g_array_index(bed.compare->pairs, struct compare_pair, i);
		const struct stats_interval *interval = &pair->sides[0].interval;
		const struct verdict_finding *finding =
			&bed.measured->verdict->outcome->findings[i];

		g_assert_cmpint(pair->sides[0].basis, ==, COMPARE_BASIS_VERDICT);
		g_assert_cmpfloat(interval->n, ==, 6);
		g_assert_cmpfloat(fabs(interval->value - finding->difference), <, 1e-12);
		g_assert_cmpfloat(interval->high - interval->low, ==, finding->high - finding->low);
		/* wider than Student's t with 6 differences of a deviation of 2.8 */
		g_assert_cmpfloat(interval->high - interval->low, >, 6);
		g_assert_cmpint(pair->sides[1].basis, ==, COMPARE_BASIS_TRIALS);
		g_assert_cmpint(pair->order, ==, COMPARE_SAME);
	}
	g_assert_cmpint(bed.compare->verdict, ==, COMPARE_AGREE);
	bed_clear(&bed);
}

static void test_an_opposite_order_differs(void)
{
	struct bed bed;

	bed_init(&bed, fixture_paper,
		 (const struct fixture_cell[]){{"easy", 1, 110, 2, 9000},
					       {"max-upr", 1, 100, 2, 9900},
					       {"max-upe", 1, 99, 2, 9000},
					       {NULL}},
		 upe_event);
	g_assert_cmpuint(bed.compare->opposite, ==, 1);
	g_assert_cmpint(bed.compare->verdict, ==, COMPARE_DIFFER);
	bed_clear(&bed);
}

static void test_a_model_that_does_not_hold_is_named(void)
{
	g_autofree char *text = NULL;
	g_autoptr(json_t) json = NULL;
	const json_t *pair;
	struct bed bed;

	bed_init(&bed, fixture_paper, fixture_paper, upe_event);
	bed.measured->verdict->outcome->findings[0].state = VERDICT_FAILS;
	text = anytime_verdict_text(bed.measured->verdict);
	g_assert_nonnull(strstr(text, "! MODEL DOES NOT HOLD: the intervals of a pair contradict"));
	g_assert_nonnull(strstr(text, "; of 1 the model does not hold"));
	json = anytime_verdict_json(bed.measured->verdict);
	pair = json_array_get(json_object_get(json, "pairs"), 0);
	g_assert_cmpstr(json_string_value(json_object_get(pair, "state")), ==,
			"model does not hold");
	g_assert_cmpint(json_integer_value(json_object_get(json, "pairs_model_does_not_hold")), ==,
			1);
	bed_clear(&bed);
}

static void test_text_and_json_say_what_it_took_and_what_the_rest_costs(void)
{
	g_autofree char *text = NULL;
	g_autoptr(json_t) json = NULL;
	g_autoptr(GPtrArray) lines = NULL;
	const json_t *verdict;
	struct bed bed;

	bed_init(&bed, fixture_noisy, fixture_noisy, upe_event);
	g_assert_cmpuint(bed.compare->pairs->len, ==, 1);
	text = compare_text(bed.compare);
	g_assert_nonnull(strstr(text, "Until the verdict: utilities, pair by pair"));
	g_assert_nonnull(strstr(text, "too noisy"));
	g_assert_nonnull(strstr(text, "when the hours were over"));
	g_assert_nonnull(strstr(text, "if they continue as so far"));
	g_assert_null(strstr(text, "CONTROL DIFFERS"));
	json = compare_json(bed.compare);
	verdict = json_object_get(json_object_get(json, "measured"), "verdict");
	g_assert_cmpint(json_integer_value(json_object_get(verdict, "runs")), ==, 24);
	g_assert_cmpint(json_integer_value(json_object_get(verdict, "pairs_decided")), ==, 0);
	g_assert_cmpint(json_integer_value(json_object_get(verdict, "rest_runs")), >, 24);
	g_assert_true(json_is_real(json_object_get(verdict, "rest_h")));
	lines = compare_brief_lines(&bed.sides, bed.compare);
	g_assert_cmpuint(lines->len, <=, 10);
	text = (g_free(text),
		g_strjoinv("\n", (char **)(g_ptr_array_add(lines, NULL), lines->pdata)));
	g_assert_nonnull(
		strstr(text, "Until the verdict, measured: 0 of 2 pairs decided after 24"));
	bed_clear(&bed);
}

static void test_a_control_that_differs_is_said_loudly(void)
{
	g_autofree char *text = NULL;
	g_autoptr(json_t) json = NULL;
	struct bed bed;
	char *control[] = {(char *)"easy", (char *)"max-upe", NULL};

	bed_init(&bed, fixture_paper, fixture_paper, control);
	/* It is no pair that is compared. */
	g_assert_cmpuint(bed.compare->pairs->len, ==, 2);
	text = compare_text(bed.compare);
	g_assert_nonnull(strstr(text, "! A CONTROL DIFFERS"));
	g_assert_nonnull(strstr(text, "CONTROL DIFFERS: max-upe earns more"));
	json = anytime_verdict_json(bed.measured->verdict);
	g_assert_true(json_is_true(json_object_get(json, "control_differs")));
	bed_clear(&bed);
}

static void test_ratios_have_no_interval_of_a_fixed_number(void)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GArray) ratios = NULL;
	struct bed bed;

	bed_init(&bed, fixture_paper, fixture_paper, upe_event);
	ratios = compare_ratios(bed.compare, "max-upr", &error);
	g_assert_no_error(error);
	for (guint i = 0; i < ratios->len; i++) {
		const struct compare_ratio *ratio = &g_array_index(ratios, struct compare_ratio, i);

		g_assert_true(isfinite(ratio->of[0][COMPARE_BY_UTILITY].value));
		g_assert_true(isnan(ratio->of[0][COMPARE_BY_UTILITY].low));
		g_assert_true(isfinite(ratio->of[1][COMPARE_BY_UTILITY].low));
	}
	bed_clear(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/anytime-verdict/intervals-are-those-of-the-verdict",
			test_intervals_are_those_of_the_verdict);
	g_test_add_func("/anytime-verdict/an-opposite-order-differs",
			test_an_opposite_order_differs);
	g_test_add_func("/anytime-verdict/a-model-that-does-not-hold-is-named",
			test_a_model_that_does_not_hold_is_named);
	g_test_add_func("/anytime-verdict/text-and-json-say-what-it-took-and-what-the-rest-costs",
			test_text_and_json_say_what_it_took_and_what_the_rest_costs);
	g_test_add_func("/anytime-verdict/a-control-that-differs-is-said-loudly",
			test_a_control_that_differs_is_said_loudly);
	g_test_add_func("/anytime-verdict/ratios-have-no-interval-of-a-fixed-number",
			test_ratios_have_no_interval_of_a_fixed_number);
	return g_test_run();
}
