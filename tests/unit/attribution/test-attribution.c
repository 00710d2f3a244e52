/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "common/json.h"
#include "controller/attribution/attribution_print.h"
#include "controller/attribution/because.h"
#include "controller/attribution/chart_causes.h"
#include "controller/attribution/shapley.h"
#include "controller/config/config_controller.h"
#include "plant.h"
#include "tests/long.h"

/* As many plants as fit into a unit test; `check --long` and benchmarks/attribution make more. */
static unsigned plants(void)
{
	return tests_are_long() ? 42 : 14;
}

static const struct attribution_options two_jobs = {.jobs = 2};

static void test_single_causes(void)
{
	g_assert_cmpuint(100 * plant_count_right(plants(), 1, 2), >=, 95 * plants());
}

static void test_null_plants(void)
{
	g_assert_cmpuint(100 * plant_count_right(plants(), 0, 2), >=, 90 * plants());
}

/* Each cause, planted without noise, explains the whole difference. */
static void test_one_explains_all(void)
{
	for (enum cause cause = 0; cause < CAUSES; cause++) {
		const struct plant plant = {.causes = 1u << cause, .seed = 7, .repeats = 1};
		const struct attribution_split *split;
		struct planted planted;

		plant_attribute(&plant, &two_jobs, &planted);
		split = &planted_cell(&planted)->splits[MEASURE_UTILITY];
		g_test_message("%s: gap %g, part %g, remains %g", cause_titles[cause],
			       split->gap.value, split->parts[cause].value, split->remains.value);
		g_assert_cmpfloat(fabs(split->gap.value), >, 1);
		g_assert_cmpfloat(fabs(split->remains.value), <=, 0.02 * fabs(split->gap.value));
		g_assert_cmpfloat(fabs(split->parts[cause].value - split->gap.value), <=,
				  0.02 * fabs(split->gap.value));
		g_assert_cmpint(attribution_first(split->gap.value, split->parts, split->noise), ==,
				(int)cause);
		g_assert_nonnull(planted_cell(&planted)->because[cause]);
		planted_clear(&planted);
	}
}

/* The energy of lost attempts is theirs alone: the meters measured nothing else. */
static void test_energy_of_lost_attempts(void)
{
	const struct plant plant = {.causes = 1u << CAUSE_LOST, .seed = 7, .repeats = 1};
	const struct attribution_split *split;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	split = &planted_cell(&planted)->splits[MEASURE_ENERGY];
	g_test_message("gap %g J, lost %g J, metering %g J, remains %g J", split->gap.value,
		       split->parts[CAUSE_LOST].value, split->parts[CAUSE_METERING].value,
		       split->remains.value);
	g_assert_cmpfloat(fabs(split->parts[CAUSE_METERING].value), <=, 1e-6 * split->measured);
	g_assert_cmpfloat(fabs(split->remains.value), <=, 1e-6 * split->measured);
	planted_clear(&planted);
}

static void test_equal_sides(void)
{
	const struct plant plant = {.seed = 3, .repeats = 1};
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	for (int m = 0; m < ATTRIBUTION_MEASURES; m++) {
		const struct attribution_split *split = &planted_cell(&planted)->splits[m];

		for (int c = 0; c < CAUSES; c++)
			g_assert_cmpfloat(fabs(split->parts[c].value), <=, 1e-9);
		g_assert_cmpint(attribution_first(split->gap.value, split->parts, split->noise), ==,
				-1);
	}
	planted_clear(&planted);
}

/* The whole result as text. */
static char *result_of(const struct plant *plant, const struct attribution_options *options)
{
	struct planted planted;
	json_t *document;
	char *text;

	plant_attribute(plant, options, &planted);
	document = attribution_json(planted.attribution);
	text = json_dumps(document, JSON_INDENT(1));
	json_decref(document);
	planted_clear(&planted);
	return text;
}

static void test_jobs(void)
{
	const struct plant plant = {.causes = 1u << CAUSE_TIMES | 1u << CAUSE_SUSPENSION,
				    .seed = 5,
				    .noise = 0.02,
				    .repeats = 1};
	const struct attribution_options one_job = {.jobs = 1};
	g_autofree char *one = result_of(&plant, &one_job);
	g_autofree char *two = result_of(&plant, &two_jobs);

	g_assert_cmpstr(one, ==, two);
}

/* With too few simulations for all sets the parts are drawn, and add up all the same. */
static void test_drawn_orders(void)
{
	const struct plant plant = {.causes = 1u << CAUSE_TIMES | 1u << CAUSE_LOST |
					      1u << CAUSE_LAUNCH | 1u << CAUSE_MOMENTS |
					      1u << CAUSE_METERING,
				    .seed = 5,
				    .noise = 0.02,
				    .repeats = 1};
	const struct attribution_options few = {.jobs = 2, .most = 40};
	const struct attribution_split *exact, *drawn;
	struct planted all, some;

	plant_attribute(&plant, &two_jobs, &all);
	plant_attribute(&plant, &few, &some);
	g_assert_cmpuint(all.attribution->orders, ==, 0);
	g_assert_cmpuint(some.attribution->orders, >=, 4);
	g_assert_cmpfloat(planted_rest(&some), <=, 1e-9);
	exact = &planted_cell(&all)->splits[MEASURE_UTILITY];
	drawn = &planted_cell(&some)->splits[MEASURE_UTILITY];
	for (int c = 0; c < CAUSES; c++) {
		g_assert_cmpfloat(exact->errors[c], ==, 0);
		g_assert_cmpfloat(fabs(drawn->parts[c].value - exact->parts[c].value), <=,
				  fmax(6 * drawn->errors[c], 0.1 * fabs(exact->gap.value)));
	}
	planted_clear(&all);
	planted_clear(&some);
}

/* Repeats give intervals by themselves, and also one of what remains. */
static void test_repeats(void)
{
	const struct plant plant = {.causes = 1u << CAUSE_TIMES,
				    .seed = 5,
				    .noise = 0.02,
				    .repeats = 4};
	const struct attribution_split *split;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	split = &planted_cell(&planted)->splits[MEASURE_UTILITY];
	g_assert_cmpuint(split->parts[CAUSE_TIMES].n, ==, 4);
	g_assert_true(isfinite(split->parts[CAUSE_TIMES].low));
	g_assert_true(isfinite(split->remains.low));
	g_assert_cmpfloat(planted_rest(&planted), <=, 1e-9);
	g_assert_cmpint(attribution_first(split->gap.value, split->parts, split->noise), ==,
			CAUSE_TIMES);
	planted_clear(&planted);
}

/* Two policies whose order the causes turn round: the sentence of "differ" names the first one. */
static void test_sentence(void)
{
	const struct plant plant = {.causes = 1u << CAUSE_SUSPENSION, .seed = 7, .repeats = 1};
	g_autofree char *sentence = NULL;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	sentence = attribution_sentence(planted.attribution, planted_cell(&planted));
	g_test_message("%s", sentence);
	g_assert_nonnull(g_strstr_len(sentence, -1, "max-upt-preempt-diff at 100 % earned "));
	g_assert_nonnull(g_strstr_len(sentence, -1, " less than simulated; "));
	g_assert_nonnull(g_strstr_len(sentence, -1, " because suspending took "));
	g_assert_nonnull(g_strstr_len(sentence, -1, "spare VMs"));
	planted_clear(&planted);
}

/* A verdict "differ" names the first cause of an opposite pair; another verdict none. */
static void test_verdict(void)
{
	const struct plant plant = {.causes = 1u << CAUSE_SUSPENSION, .seed = 7, .repeats = 1};
	g_autofree char *none = NULL;
	g_autofree char *sentence = NULL;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	planted.compare->verdict = COMPARE_AGREE;
	none = attribution_verdict(planted.attribution);
	g_assert_null(none);
	planted.compare->verdict = COMPARE_DIFFER;
	g_array_index(planted.compare->pairs, struct compare_pair, 0).order = COMPARE_OPPOSITE;
	planted.compare->because = attribution_verdict(planted.attribution);
	g_assert_nonnull(planted.compare->because);
	sentence = compare_sentence(planted.compare);
	g_test_message("%s", sentence);
	g_assert_nonnull(g_strstr_len(sentence, -1,
				      "; the first cause is suspension: max-upt-preempt-diff - "
				      "easy at 100 %: of -"));
	planted_clear(&planted);
}

/* On shared hosts the mean stretch is attributed: to suspensions, and to execution times. */
static void test_shared_hosts(void)
{
	static const enum cause causes[] = {CAUSE_SUSPENSION, CAUSE_TIMES, CAUSE_MOMENTS};

	for (gsize i = 0; i < G_N_ELEMENTS(causes); i++) {
		const struct plant plant = {.causes = 1u << causes[i],
					    .seed = 7,
					    .repeats = 1,
					    .shared = true};
		const struct attribution_split *split;
		struct planted planted;

		plant_attribute(&plant, &two_jobs, &planted);
		g_assert_cmpint(planted.attribution->measure, ==, MEASURE_STRETCH);
		g_assert_cmpfloat(planted_rest(&planted), <=, 1e-9);
		split = &planted_cell(&planted)->splits[MEASURE_STRETCH];
		g_test_message("%s: simulated %g, gap %g, part %g, remains %g",
			       cause_titles[causes[i]], split->simulated, split->gap.value,
			       split->parts[causes[i]].value, split->remains.value);
		g_assert_cmpfloat(fabs(split->remains.value), <=, 0.02 * fabs(split->gap.value));
		g_assert_cmpint(attribution_first(split->gap.value, split->parts, split->noise), ==,
				(int)causes[i]);
		planted_clear(&planted);
	}
}

/* With suspensions as measured, a cluster that had none keeps the simulated overheads. */
static void test_clusters_without_suspensions(void)
{
	static const char *const policies[] = {"max-upt-preempt-diff", NULL};
	const struct plant plant = {.causes = 1u << CAUSE_SUSPENSION, .seed = 7, .repeats = 1};
	const cause_set on = 1u << CAUSE_SUSPENSION;
	double as_simulated[MEASURES], as_measured[MEASURES], without[MEASURES];
	g_autoptr(GError) error = NULL;
	g_autoptr(config_t) config = NULL;
	g_autoptr(experiment_t) experiment = NULL;
	g_autoptr(observed_t) observed = NULL;
	g_autofree char *path = NULL;
	struct experiment_trial trial;
	struct observed_run *run;
	struct planted planted;
	bool suspended;

	plant_attribute(&plant, &two_jobs, &planted);
	path = g_build_filename(planted.dir, "simulated", "config.yaml", NULL);
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	config->overheads = g_new0(struct config_overhead, config->clusters_count);
	config->overheads_count = config->clusters_count;
	for (uint32_t c = 0; c < config->clusters_count; c++) {
		config->overheads[c].cluster = g_strdup(config->clusters[c].name);
		config->overheads[c].save_s = 20;
	}
	experiment = experiment_new(config, policies, &error);
	g_assert_no_error(error);
	g_assert_true(experiment_trial_init(experiment, config->workload->seed, 1, &trial, &error));
	observed = observed_new(planted.summaries[0], experiment, &trial, &error);
	g_assert_no_error(error);
	run = observed->runs->pdata[0];
	g_array_set_size(run->steps, 0);
	for (uint32_t c = 0; c < observed->clusters_count; c++)
		observed->overheads->counts[c] = 0;

	const struct replica_side side = {experiment, &trial, 1};
	const struct replica replica = {side, side, observed, true, on};
	const struct replica_run again = {
		.policy = &experiment->policies[0],
		.observed = run,
		.measured_j = run->run->limit_j,
		.simulated_j = run->run->limit_j,
	};

	g_assert_true(replica_simulate(&replica, &again, 0, as_simulated, &suspended, NULL));
	g_assert_true(replica_simulate(&replica, &again, on, as_measured, &suspended, NULL));
	experiment_drop_overheads(experiment);
	g_assert_true(replica_simulate(&replica, &again, 0, without, &suspended, NULL));
	g_assert_cmpfloat(as_measured[MEASURE_UTILITY], ==, as_simulated[MEASURE_UTILITY]);
	g_assert_cmpfloat(as_measured[MEASURE_UTILITY], !=, without[MEASURE_UTILITY]);
	experiment_trial_clear(&trial);
	planted_clear(&planted);
}

static void test_two_of_a_kind(void)
{
	const struct plant plant = {.seed = 3, .repeats = 1};
	g_autoptr(GError) error = NULL;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	planted.sides.mixed = false;
	g_assert_null(attribution_new(planted.compare, &two_jobs, &error));
	g_assert_error(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_SIDES);
	planted_clear(&planted);
}

static void test_other_limits(void)
{
	const struct plant plant = {.seed = 3, .repeats = 1};
	g_autoptr(GError) error = NULL;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	for (guint i = 0; i < planted.summaries[1]->cells_count; i++)
		planted.summaries[1]->cells[i].limit = 0.5;
	g_assert_null(attribution_new(planted.compare, &two_jobs, &error));
	g_assert_error(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_CELLS);
	planted_clear(&planted);
}

/* A task that failed without an attempt has no loss. */
static void test_text_of_losses(void)
{
	const struct backend_sim_loss losses[] = {{.outcome = BACKEND_OUTCOME_LOST},
						  {.outcome = BACKEND_OUTCOME_FAILED}};
	struct observed_run run = {
		.losses = g_array_new(FALSE, FALSE, sizeof(struct backend_sim_loss)),
		.nodes = g_array_new(FALSE, FALSE, sizeof(struct backend_event)),
		.failed = 3, /* two of them before an attempt */
	};
	g_autoptr(GPtrArray) runs = g_ptr_array_new();
	const struct replica replica = {.same_tasks = true};
	g_autofree char *text = NULL;

	g_array_append_vals(run.losses, losses, G_N_ELEMENTS(losses));
	g_ptr_array_add(runs, &run);
	text = because_text(&replica, runs, CAUSE_LOST, 0);
	g_assert_cmpstr(text, ==, "1 attempt was lost, 3 tasks failed");
	g_array_unref(run.losses);
	g_array_unref(run.nodes);
}

/* Tasks of users who react have other numbers in every run. */
static void test_users(void)
{
	const struct plant plant = {.seed = 3, .repeats = 1};
	g_autoptr(GError) error = NULL;
	g_autofree char *path = NULL;
	g_autoptr(config_t) config = NULL;
	struct planted planted;

	plant_attribute(&plant, &two_jobs, &planted);
	path = g_build_filename(planted.dir, "measured", "config.yaml", NULL);
	config = config_controller_load(path, &error);
	g_assert_no_error(error);
	config->workload->users = 3;
	config->workload->think_mean_s = 60;
	config->workload->arrival_mean_s = 0;
	config_save(config, path, &error);
	g_assert_no_error(error);
	g_assert_null(attribution_new(planted.compare, &two_jobs, &error));
	g_assert_error(error, ATTRIBUTION_ERROR, ATTRIBUTION_ERROR_USERS);
	planted_clear(&planted);
}

/* Where nothing of a cause is known there is a sentence without numbers. */
static void test_sentences_without_numbers(void)
{
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	const struct replica replica = {.same_tasks = true};
	g_autofree char *times = because_text(&replica, none, CAUSE_TIMES, 0);
	g_autofree char *launch = because_text(&replica, none, CAUSE_LAUNCH, 0);

	g_assert_cmpstr(times, ==, "tasks took other times than those that are simulated");
	g_assert_cmpstr(launch, ==,
			"tasks took other times to launch than those that are simulated");
}

/* Causes that cancel one another are not told as parts of the difference that they leave. */
static void test_cancelling(void)
{
	struct compare compare = {.verdict = COMPARE_DIFFER};
	struct attribution attribution = {
		.measure = MEASURE_UTILITY,
		.compare = &compare,
		.cells = g_array_new(FALSE, TRUE, sizeof(struct attribution_cell)),
		.pairs = g_array_new(FALSE, TRUE, sizeof(struct attribution_pair)),
	};
	struct attribution_cell cell = {.policy = "easy", .limit = 1, .runs = 1};
	struct attribution_split *split = &cell.splits[MEASURE_UTILITY];
	struct compare_pair compared = {.first = "easy",
					.second = "easy",
					.limit = 1,
					.order = COMPARE_OPPOSITE};
	struct attribution_pair pair = {.pair = &compared, .gap = -6, .first = CAUSE_TIMES};
	g_autofree char *sentence = NULL;
	g_autofree char *verdict = NULL;

	split->known = true;
	split->simulated = 200;
	split->gap.value = -6;
	split->parts[CAUSE_TIMES] =
		(struct stats_interval){.value = -168, .low = -170, .high = -160};
	split->parts[CAUSE_LAUNCH].value = 120;
	split->remains.value = 42;
	cell.because[CAUSE_TIMES] = (char *)"tasks took 1.20 times what is simulated";
	sentence = attribution_sentence(&attribution, &cell);
	g_assert_cmpstr(
		sentence, ==,
		"easy at 100 % earned 3.0 % less than simulated; causes cancel one another: "
		"84.0 points less because tasks took 1.20 times what is simulated, and 81.0 "
		"points more by all others together, above all by launch (60.0 points).");
	memcpy(pair.parts, split->parts, sizeof(pair.parts));
	pair.remains = split->remains.value;
	g_array_append_val(attribution.cells, cell);
	g_array_append_val(attribution.pairs, pair);
	verdict = attribution_verdict(&attribution);
	g_assert_nonnull(
		strstr(verdict,
		       "easy - easy at 100 %: measured and simulated differ by -6.00; causes "
		       "cancel one another: -168.00 because tasks took 1.20 times what is "
		       "simulated, and +162.00 by all others together, above all by launch "
		       "(+120.00)"));
	g_array_unref(attribution.cells);
	g_array_unref(attribution.pairs);
}

/* gnuplot refuses an axis that ends where it begins. */
static void test_chart_of_nothing(void)
{
	struct attribution attribution = {
		.measure = MEASURE_UTILITY,
		.cells = g_array_new(FALSE, TRUE, sizeof(struct attribution_cell)),
	};
	struct attribution_cell cell = {.policy = "easy", .limit = 1, .runs = 1};
	g_autoptr(GPtrArray) charts = NULL;
	const struct chart *chart;

	cell.splits[MEASURE_UTILITY].known = true;
	g_array_append_val(attribution.cells, cell);
	charts = chart_causes(&attribution);
	g_assert_cmpuint(charts->len, ==, 1);
	chart = charts->pdata[0];
	g_assert_nonnull(strstr(chart->variables->str, "low = 0\n"));
	g_assert_nonnull(strstr(chart->variables->str, "high = 1\n"));
	g_array_unref(attribution.cells);
}

/* Shapley values. */

/*
 * A game of three: each has a value of its own, the first two together have more, and the third
 * has none.
 */
static void test_shapley_values(void)
{
	const cause_set causes = 1u << 0 | 1u << 2 | 1u << 5;
	shapley_plan_t *plan = shapley_plan_new(causes, 8);
	double values[CAUSE_SETS] = {0};
	double parts[CAUSES];
	uint32_t count;

	for (cause_set set = 0; set < CAUSE_SETS; set++)
		values[set] = 10 + 3 * (set & 1) + 5 * (set >> 2 & 1) + 4 * (set & set >> 2 & 1);
	g_assert_true(shapley_plan_is_exact(plan));
	shapley_plan_sets(plan, &count);
	g_assert_cmpuint(count, ==, 8);
	shapley_values(plan, values, parts, NULL);
	g_assert_cmpfloat_with_epsilon(parts[0], 5, 1e-12);
	g_assert_cmpfloat_with_epsilon(parts[2], 7, 1e-12);
	g_assert_cmpfloat_with_epsilon(parts[5], 0, 1e-12);
	g_assert_cmpfloat(parts[1], ==, 0);
	shapley_plan_free(plan);
}

/* The glove game: one left glove, two right ones; a pair is worth 1. */
static void test_shapley_gloves(void)
{
	shapley_plan_t *plan = shapley_plan_new(7, 8);
	double values[CAUSE_SETS] = {0};
	double parts[CAUSES];

	for (cause_set set = 0; set < 8; set++)
		values[set] = (set & 1) && (set & 6);
	shapley_values(plan, values, parts, NULL);
	g_assert_cmpfloat_with_epsilon(parts[0], 2.0 / 3, 1e-12);
	g_assert_cmpfloat_with_epsilon(parts[1], 1.0 / 6, 1e-12);
	g_assert_cmpfloat_with_epsilon(parts[2], 1.0 / 6, 1e-12);
	shapley_plan_free(plan);
}

/* A game that depends on sizes alone is fair in every order; others by the error of the draw. */
static void test_shapley_drawn(void)
{
	const cause_set all = CAUSE_SETS - 1;
	shapley_plan_t *plan = shapley_plan_new(all, 40);
	double values[CAUSE_SETS];
	double parts[CAUSES], errors[CAUSES];
	double sum = 0;
	uint32_t count;

	g_assert_false(shapley_plan_is_exact(plan));
	g_assert_cmpuint(shapley_plan_orders(plan), >=, 4);
	shapley_plan_sets(plan, &count);
	g_assert_cmpuint(count, <=, 40);
	for (cause_set set = 0; set < CAUSE_SETS; set++)
		values[set] = (set & 1) + 2.0 * (set >> 1 & 1) + 3 * ((set >> 2 & set >> 4) & 1);
	shapley_values(plan, values, parts, errors);
	for (int c = 0; c < CAUSES; c++)
		sum += parts[c];
	g_assert_cmpfloat_with_epsilon(sum, values[all] - values[0], 1e-12);
	g_assert_cmpfloat_with_epsilon(parts[0], 1, 1e-12);
	g_assert_cmpfloat_with_epsilon(parts[1], 2, 1e-12);
	/* Together with its reverse each order is fair to a pair. */
	g_assert_cmpfloat_with_epsilon(parts[2], 1.5, 1e-12);
	g_assert_cmpfloat(errors[2], <=, 1e-6);
	shapley_plan_free(plan);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/shapley/a known game is divided exactly", test_shapley_values);
	g_test_add_func("/shapley/the glove game", test_shapley_gloves);
	g_test_add_func("/shapley/drawn orders add up", test_shapley_drawn);
	g_test_add_func("/attribution/a cause alone explains all", test_one_explains_all);
	g_test_add_func("/attribution/planted causes come first", test_single_causes);
	g_test_add_func("/attribution/where nothing is planted nothing is blamed",
			test_null_plants);
	g_test_add_func("/attribution/the energy of lost attempts counts once",
			test_energy_of_lost_attempts);
	g_test_add_func("/attribution/equal sides have no causes", test_equal_sides);
	g_test_add_func("/attribution/it does not depend on the number of jobs", test_jobs);
	g_test_add_func("/attribution/drawn orders add up and are near", test_drawn_orders);
	g_test_add_func("/attribution/repeats give the intervals", test_repeats);
	g_test_add_func("/attribution/a sentence names the cause", test_sentence);
	g_test_add_func("/attribution/a sentence says that causes cancel", test_cancelling);
	g_test_add_func("/attribution/a sentence has no numbers that are not known",
			test_sentences_without_numbers);
	g_test_add_func("/attribution/a chart where all is 0 has an axis", test_chart_of_nothing);
	g_test_add_func("/attribution/a verdict that differs names it", test_verdict);
	g_test_add_func("/attribution/on shared hosts stretches are divided", test_shared_hosts);
	g_test_add_func("/attribution/clusters without suspensions keep the simulated overheads",
			test_clusters_without_suspensions);
	g_test_add_func("/attribution/two of a kind are refused", test_two_of_a_kind);
	g_test_add_func("/attribution/no common limit is refused", test_other_limits);
	g_test_add_func("/attribution/failures are no lost attempts", test_text_of_losses);
	g_test_add_func("/attribution/users who react are refused", test_users);
	return g_test_run();
}
