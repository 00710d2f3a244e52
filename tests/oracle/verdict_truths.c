/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/verdict_truths.h"

#include <glib.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "common/random.h"

#define BASE 100.0 /* the utility that the best policy earns */
#define ERLANG 4
#define STUDENT_DF 5.0
#define COMMON_SD 0.02
#define LEAST_SD 0.02
#define MOST_SD 0.06
#define QUARTER 0.25

enum shape { NORMAL, SKEWED, HEAVY, SHAPES };

/* A variate of the standard normal distribution. */
static double normal(struct random_stream *random)
{
	return gsl_cdf_ugaussian_Pinv((random_stream_uniform(random) + 0x1p-54));
}

/* A variate of mean 0 and deviation 1. */
static double variate(struct random_stream *random, enum shape shape)
{
	double sum = 0;

	switch (shape) {
	case SKEWED:
		for (int i = 0; i < ERLANG; i++)
			sum += random_stream_exponential(random, 1);
		return (sum - ERLANG) / sqrt(ERLANG);
	case HEAVY:
		return gsl_cdf_tdist_Pinv(random_stream_uniform(random) + 0x1p-54, STUDENT_DF) /
		       sqrt(STUDENT_DF / (STUDENT_DF - 2));
	case NORMAL:
	case SHAPES:
		break;
	}
	return normal(random);
}

/* How much less than the best the policy earns, as a fraction. */
static double loss(struct random_stream *random, uint32_t kind, uint32_t policy)
{
	const double u = random_stream_uniform(random);

	switch (kind) {
	case 0:
		return 0;
	case 1:
		return 0.01 * u;
	case 2:
		return policy == 0 ? 0.2 + 0.1 * u : 0.03 * u;
	default:
		return 0.3 * u;
	}
}

static void add_pairs(struct verdict_truth *truth)
{
	uint32_t count = 0;

	for (uint32_t limit = 0; limit < VERDICT_TRUTH_LIMITS; limit++)
		for (uint32_t i = 0; i < VERDICT_TRUTH_POLICIES; i++)
			for (uint32_t j = i + 1; j < VERDICT_TRUTH_POLICIES; j++)
				truth->pairs[count++] = (struct verdict_pair){
					.first = limit * VERDICT_TRUTH_POLICIES + i,
					.second = limit * VERDICT_TRUTH_POLICIES + j,
				};
}

void verdict_truth_init(struct verdict_truth *truth, uint64_t seed, uint32_t number,
			uint32_t repeats, double misjudged)
{
	struct random_stream random;
	const enum shape shape = (number / VERDICT_TRUTH_KINDS) % SHAPES;
	double sd[VERDICT_TRUTH_CELLS];
	double spread;

	random_stream_init(&random, seed, number);
	*truth = (struct verdict_truth){.kind = number % VERDICT_TRUTH_KINDS, .repeats = repeats};
	add_pairs(truth);
	spread = LEAST_SD + (MOST_SD - LEAST_SD) * random_stream_uniform(&random);
	for (uint32_t cell = 0; cell < VERDICT_TRUTH_CELLS; cell++) {
		truth->means[cell] =
			BASE * (1 - loss(&random, truth->kind, cell % VERDICT_TRUTH_POLICIES));
		sd[cell] = BASE * spread * exp(QUARTER * normal(&random));
		truth->noise[cell] = misjudged * sd[cell] * exp(QUARTER * normal(&random));
	}
	truth->utility = g_new(double, (size_t)VERDICT_TRUTH_CELLS *repeats);
	for (uint32_t repeat = 0; repeat < repeats; repeat++) {
		const double common = BASE * COMMON_SD * normal(&random);

		for (uint32_t cell = 0; cell < VERDICT_TRUTH_CELLS; cell++)
			truth->utility[(size_t)cell * repeats + repeat] =
				truth->means[cell] + common + sd[cell] * variate(&random, shape);
	}
}

void verdict_truth_clear(struct verdict_truth *truth)
{
	g_clear_pointer(&truth->utility, g_free);
}

bool verdict_truth_is_wrong(const struct verdict_truth *truth, const struct verdict_pair *pair,
			    enum verdict_state state, double equal_within)
{
	const double first = truth->means[pair->first];
	const double second = truth->means[pair->second];

	return (state == VERDICT_FIRST && first <= second) ||
	       (state == VERDICT_SECOND && first >= second) ||
	       (state == VERDICT_EQUAL &&
		fabs(first - second) > equal_within * (first + second) / 2);
}

struct verdict_play verdict_truth_play(const struct verdict_truth *truth, double alpha,
				       double equal_within, bool noisy)
{
	uint32_t done[VERDICT_TRUTH_CELLS] = {0};
	const struct verdict_design design = {
		.cells = VERDICT_TRUTH_CELLS,
		.repeats = truth->repeats,
		.pairs = (struct verdict_pair *)truth->pairs,
		.pairs_count = VERDICT_TRUTH_PAIRS,
		.alpha = alpha,
		.equal_within = equal_within,
		.noise = noisy ? truth->noise : NULL,
		.noise_df = VERDICT_NOISE_DF,
	};
	const struct verdict_runs runs = {.done = done, .utility = truth->utility};
	struct verdict_play play = {.runs = 0};
	uint32_t cell;

	for (;;) {
		verdict_judge(&design, &runs, play.findings);
		if (!verdict_choose(&design, &runs, play.findings, &cell))
			break;
		done[cell]++;
		play.runs++;
	}
	for (uint32_t i = 0; i < VERDICT_TRUTH_PAIRS; i++) {
		const struct verdict_pair *pair = &truth->pairs[i];
		const struct verdict_finding *finding = &play.findings[i];
		const double difference = truth->means[pair->first] - truth->means[pair->second];

		play.decided += finding->state == VERDICT_FIRST || finding->state == VERDICT_SECOND;
		play.wrong = play.wrong ||
			     verdict_truth_is_wrong(truth, pair, finding->state, equal_within);
		play.uncovered =
			play.uncovered || difference < finding->low || difference > finding->high;
	}
	return play;
}
