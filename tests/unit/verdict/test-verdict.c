/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "controller/verdict/verdict.h"
#include "tests/oracle/verdict_truths.h"

#define ALPHA VERDICT_ALPHA
#define WITHIN VERDICT_EQUAL_WITHIN
#define REPEATS 20

/* A fixed set; benchmarks/verdict has 2,000. */
static void test_few_verdicts_are_wrong_and_most_runs_are_saved(void)
{
	const uint32_t truths = 200;
	uint32_t wrong = 0, noisy = 0, equal = 0, winners = 0;
	uint64_t runs = 0;

	for (uint32_t number = 0; number < truths; number++) {
		struct verdict_truth truth;
		struct verdict_play play;

		verdict_truth_init(&truth, 5, number, REPEATS, 1);
		play = verdict_truth_play(&truth, ALPHA, WITHIN, true);
		wrong += play.wrong;
		runs += play.runs;
		winners += play.decided;
		for (uint32_t i = 0; i < VERDICT_TRUTH_PAIRS; i++) {
			noisy += play.findings[i].state == VERDICT_NOISY;
			equal += play.findings[i].state == VERDICT_EQUAL;
			g_assert_cmpint(play.findings[i].state, !=, VERDICT_OPEN);
		}
		verdict_truth_clear(&truth);
	}
	g_assert_cmpuint(wrong, <=, 1);
	g_assert_cmpfloat((double)runs, <, 0.4 * truths * VERDICT_TRUTH_CELLS * REPEATS);
	g_assert_cmpuint(winners, >, truths * VERDICT_TRUTH_PAIRS / 5);
	g_assert_cmpuint(noisy, >, truths * VERDICT_TRUTH_PAIRS / 4);
	g_assert_cmpuint(equal, >, 0);
}

/* Two cells and their pair. */
struct bed {
	uint32_t done[2];
	double utility[2 * REPEATS];
	struct verdict_pair pair;
	struct verdict_design design;
	struct verdict_runs runs;
	struct verdict_finding finding;
};

static void bed_init(struct bed *bed, const double *noise)
{
	*bed = (struct bed){.pair = {0, 1, false}};
	bed->design = (struct verdict_design){
		.cells = 2,
		.repeats = REPEATS,
		.pairs = &bed->pair,
		.pairs_count = 1,
		.alpha = ALPHA,
		.equal_within = WITHIN,
		.noise = noise,
		.noise_df = VERDICT_NOISE_DF,
	};
	bed->runs = (struct verdict_runs){bed->done, bed->utility};
	verdict_judge(&bed->design, &bed->runs, &bed->finding);
}

/* One more repeat of both. */
static void bed_add(struct bed *bed, double first, double second)
{
	bed->utility[bed->done[0]++] = first;
	bed->utility[REPEATS + bed->done[1]++] = second;
	verdict_judge(&bed->design, &bed->runs, &bed->finding);
}

static void test_one_repeat_decides_nothing_alone(void)
{
	struct bed bed;

	bed_init(&bed, NULL);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_OPEN);
	g_assert_true(isnan(bed.finding.difference));
	bed_add(&bed, 100, 10);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_OPEN);
	g_assert_cmpuint(bed.finding.n, ==, 1);
	g_assert_true(isinf(bed.finding.low));
}

static void test_noise_from_elsewhere_decides_early(void)
{
	static const double noise[] = {1, 1};
	struct bed bed;

	bed_init(&bed, noise);
	bed_add(&bed, 100, 50);
	/* Not by the simulated noise alone: one difference says nothing of the machine's. */
	g_assert_cmpint(bed.finding.state, ==, VERDICT_OPEN);
	g_assert_cmpuint(bed.finding.needs, ==, 2);
	bed_add(&bed, 100, 50);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FIRST);
	g_assert_cmpuint(bed.finding.decided, ==, 2);
	bed_init(&bed, noise);
	bed_add(&bed, 50, 100);
	bed_add(&bed, 50, 100);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_SECOND);
	/* The second one contradicts the first one: the noise is larger than was simulated. */
	bed_init(&bed, noise);
	bed_add(&bed, 100, 50);
	bed_add(&bed, 50, 100);
	g_assert_cmpint(bed.finding.state, !=, VERDICT_FIRST);
	g_assert_cmpint(bed.finding.state, !=, VERDICT_SECOND);
}

/* Simulated repeats that hardly differ are no estimate: all is as without them. */
static void test_hardly_any_noise_from_elsewhere_is_none(void)
{
	static const double noises[][2] = {{0, 0}, {1e-12, 1e-12}, {0.2, 0.2}, {2, 0.2}};

	for (gsize i = 0; i < G_N_ELEMENTS(noises); i++) {
		struct bed bed, alone;

		bed_init(&bed, noises[i]);
		bed_init(&alone, NULL);
		for (int repeat = 0; repeat < 6; repeat++) {
			const double first = 100 + 3 * (repeat % 2);

			bed_add(&bed, first, 90);
			bed_add(&alone, first, 90);
			g_assert_cmpint(bed.finding.state, ==, alone.finding.state);
			g_assert_cmpfloat(bed.finding.low, ==, alone.finding.low);
			g_assert_cmpuint(bed.finding.needs, ==, alone.finding.needs);
		}
	}
}

/* Utilities without any noise: the same ones are equal, others are told apart. */
static void test_equal_values(void)
{
	struct bed bed;
	uint32_t cell;

	bed_init(&bed, NULL);
	for (int i = 0; i < 4; i++)
		bed_add(&bed, 30, 30);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_EQUAL);
	g_assert_false(verdict_choose(&bed.design, &bed.runs, &bed.finding, &cell));
	bed_init(&bed, NULL);
	for (int i = 0; i < 4; i++)
		bed_add(&bed, 30, 29);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FIRST);
	bed_init(&bed, NULL);
	bed.design.equal_within = 0;
	for (int i = 0; i < 4; i++)
		bed_add(&bed, 30, 30);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_NOISY);
	g_assert_cmpuint(bed.finding.needs, ==, VERDICT_NEVER);
	bed_init(&bed, NULL);
	for (int i = 0; i < 4; i++)
		bed_add(&bed, 0, 0); /* nothing earned at all: no margin */
	g_assert_cmpint(bed.finding.state, ==, VERDICT_NOISY);
}

/* What is decided stays so with later runs that do not contradict it; others are told. */
static void test_a_decision_stays(void)
{
	static const double noise[] = {1, 1};
	struct bed bed;

	bed_init(&bed, noise);
	bed_add(&bed, 100, 50);
	bed_add(&bed, 100, 50);
	for (int i = 0; i < 6; i++)
		bed_add(&bed, 100, 65);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FIRST);
	g_assert_cmpuint(bed.finding.decided, ==, 2);
	g_assert_cmpuint(bed.finding.n, ==, 8);
	for (int i = 0; i < 6; i++)
		bed_add(&bed, 60, 90);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FAILS);
}

/* A machine that becomes another one: intervals before and after exclude each other. */
static void test_contradicting_intervals_are_said(void)
{
	struct bed bed;
	uint32_t cell, never;

	bed_init(&bed, NULL);
	for (int i = 0; i < 10; i++)
		bed_add(&bed, 100 + 0.01 * (i % 2), 50);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FIRST);
	for (int i = 0; i < 10; i++)
		bed_add(&bed, 101 + 0.01 * (i % 2), 50);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FAILS);
	g_assert_cmpstr(verdict_state_names[bed.finding.state], ==, "model does not hold");
	g_assert_cmpuint(bed.finding.decided, ==, 0);
	g_assert_true(isinf(bed.finding.low) && isinf(bed.finding.high));
	g_assert_false(verdict_choose(&bed.design, &bed.runs, &bed.finding, &cell));
	g_assert_cmpuint(verdict_rest(&bed.design, &bed.runs, &bed.finding, &never), ==, 0);
}

static void test_unknown_utilities_are_left_out(void)
{
	struct bed bed;

	bed_init(&bed, NULL);
	bed_add(&bed, 100, NAN);
	g_assert_cmpuint(bed.finding.n, ==, 0);
	g_assert_true(isnan(bed.finding.difference));
	for (int i = 0; i < 6; i++)
		bed_add(&bed, 100 + i % 2, i == 3 ? (double)NAN : 60);
	g_assert_cmpuint(bed.finding.n, ==, 5);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FIRST);
	g_assert_cmpuint(bed.finding.decided, <=, 7);
}

/* Two that earn the same under much noise are given up long before all repeats. */
static void test_too_noisy_is_said_and_what_the_rest_costs(void)
{
	static const double noise[] = {20, 20};
	struct bed bed;
	uint32_t cell, never;
	uint64_t rest;

	bed_init(&bed, noise);
	for (int i = 0; i < REPEATS && bed.finding.state == VERDICT_OPEN; i++)
		bed_add(&bed, 100 + (i % 2 ? 20 : -20), 99 + (i % 3 ? -14 : 28));
	g_assert_cmpint(bed.finding.state, ==, VERDICT_NOISY);
	g_assert_cmpuint(bed.finding.n, <, REPEATS / 2);
	g_assert_false(verdict_choose(&bed.design, &bed.runs, &bed.finding, &cell));
	rest = verdict_rest(&bed.design, &bed.runs, &bed.finding, &never);
	g_assert_true(never == 1 || rest > 2 * REPEATS);
	if (never == 0)
		g_assert_cmpuint(rest, ==, 2 * (bed.finding.needs - bed.done[0]));
}

/* The runs that the estimate of the rest asks for do decide, where the mean and deviation stay. */
static void test_the_rest_is_what_it_takes(void)
{
	struct bed bed;
	uint32_t never, needs;

	bed_init(&bed, NULL);
	for (int i = 0; i < 4; i++)
		bed_add(&bed, 100 + (i % 2 ? 4 : -4), 93);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_OPEN);
	needs = bed.finding.needs;
	g_assert_cmpuint(verdict_rest(&bed.design, &bed.runs, &bed.finding, &never), ==,
			 2 * (needs - 4));
	g_assert_cmpuint(never, ==, 0);
	while (bed.finding.state == VERDICT_OPEN)
		bed_add(&bed, 100 + (bed.done[0] % 2 ? 4 : -4), 93);
	g_assert_cmpint(bed.finding.state, ==, VERDICT_FIRST);
	g_assert_cmpuint(bed.finding.decided + 2, >=, needs);
	g_assert_cmpuint(bed.finding.decided, <=, needs + 2);
}

/* A run follows from the runs before it alone: a run that continues makes the same choices. */
static void test_choices_follow_from_the_runs_so_far(void)
{
	struct verdict_truth truth;
	uint32_t done[VERDICT_TRUTH_CELLS] = {0};
	struct verdict_finding findings[VERDICT_TRUTH_PAIRS];
	struct verdict_design design = {
		.cells = VERDICT_TRUTH_CELLS,
		.repeats = REPEATS,
		.pairs = truth.pairs,
		.pairs_count = VERDICT_TRUTH_PAIRS,
		.alpha = ALPHA,
		.equal_within = WITHIN,
		.noise = truth.noise,
		.noise_df = VERDICT_NOISE_DF,
	};
	const struct verdict_play whole = (verdict_truth_init(&truth, 9, 3, REPEATS, 1),
					   verdict_truth_play(&truth, ALPHA, WITHIN, true));
	uint32_t runs = 0;

	for (;;) {
		/* Only what has run is known, in fresh memory. */
		g_autofree double *known = g_new(double, VERDICT_TRUTH_CELLS *REPEATS);
		struct verdict_runs so_far = {done, known};
		uint32_t cell;

		for (uint32_t i = 0; i < VERDICT_TRUTH_CELLS * REPEATS; i++)
			known[i] = i % REPEATS < done[i / REPEATS] ? truth.utility[i] : -1e6;
		memset(findings, 0xff, sizeof(findings));
		verdict_judge(&design, &so_far, findings);
		if (!verdict_choose(&design, &so_far, findings, &cell))
			break;
		g_assert_cmpuint(done[cell], <, REPEATS);
		done[cell]++;
		runs++;
	}
	g_assert_cmpuint(runs, ==, whole.runs);
	for (uint32_t i = 0; i < VERDICT_TRUTH_PAIRS; i++)
		g_assert_cmpint(findings[i].state, ==, whole.findings[i].state);
	verdict_truth_clear(&truth);
}

/* First every cell of a pair once, in order; cells of no pair never; then the runs of a pair. */
static void test_the_runs_of_a_pair_lie_side_by_side(void)
{
	uint32_t done[4] = {0};
	double utility[4 * REPEATS] = {0};
	struct verdict_pair pairs[] = {{0, 2, false}, {3, 0, false}};
	const struct verdict_design design = {
		.cells = 4,
		.repeats = REPEATS,
		.pairs = pairs,
		.pairs_count = 2,
		.alpha = ALPHA,
	};
	const struct verdict_runs runs = {done, utility};
	struct verdict_finding findings[2];
	uint32_t cells[9];

	for (uint32_t i = 0; i < G_N_ELEMENTS(cells); i++) {
		uint32_t cell = 99;

		verdict_judge(&design, &runs, findings);
		g_assert_true(verdict_choose(&design, &runs, findings, &cell));
		/* No cell runs ahead of those that it is compared with. */
		g_assert_true(i < 3 || done[cell] <= done[cell ? 0 : 2] ||
			      (cell == 0 && done[cell] <= done[3]));
		utility[cell * REPEATS + done[cell]] = (cell ? 80 : 100) + (7 * i + 3 * cell) % 13;
		done[cell]++;
		cells[i] = cell;
	}
	g_assert_cmpuint(cells[0], ==, 0);
	g_assert_cmpuint(cells[1], ==, 2);
	g_assert_cmpuint(cells[2], ==, 3);
	g_assert_cmpuint(cells[3], ==, 0); /* it is in both pairs */
	g_assert_cmpuint(done[1], ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/verdict/few-verdicts-are-wrong-and-most-runs-are-saved",
			test_few_verdicts_are_wrong_and_most_runs_are_saved);
	g_test_add_func("/verdict/one-repeat-decides-nothing-alone",
			test_one_repeat_decides_nothing_alone);
	g_test_add_func("/verdict/noise-from-elsewhere-decides-early",
			test_noise_from_elsewhere_decides_early);
	g_test_add_func("/verdict/hardly-any-noise-from-elsewhere-is-none",
			test_hardly_any_noise_from_elsewhere_is_none);
	g_test_add_func("/verdict/equal-values", test_equal_values);
	g_test_add_func("/verdict/contradicting-intervals-are-said",
			test_contradicting_intervals_are_said);
	g_test_add_func("/verdict/a-decision-stays", test_a_decision_stays);
	g_test_add_func("/verdict/unknown-utilities-are-left-out",
			test_unknown_utilities_are_left_out);
	g_test_add_func("/verdict/too-noisy-is-said-and-what-the-rest-costs",
			test_too_noisy_is_said_and_what_the_rest_costs);
	g_test_add_func("/verdict/the-rest-is-what-it-takes", test_the_rest_is_what_it_takes);
	g_test_add_func("/verdict/choices-follow-from-the-runs-so-far",
			test_choices_follow_from_the_runs_so_far);
	g_test_add_func("/verdict/the-runs-of-a-pair-lie-side-by-side",
			test_the_runs_of_a_pair_lie_side_by_side);
	return g_test_run();
}
