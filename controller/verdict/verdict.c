/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/verdict/verdict.h"

#include <math.h>

/* Differences without which a pair is neither decided nor given up, whatever its noise may be. */
#define DIFFERENCES_MIN 2

/*
 * The least deviation that an earlier estimate is believed, as a fraction of what the run earns. A
 * simulation in which nothing varies, or only the rounding does, knows nothing of the noise.
 */
#define NOISE_MIN 0.005
#define NOISE_ROUNDING 1e-9 /* in utility: of runs that earn nothing */

/* A pair is given up where not even a difference larger by so many standard errors decides it. */
#define HOPE 0.5

/* Without a variance: the repeats that a pair is expected to need. */
#define REPEATS_UNKNOWN 3

const char *const verdict_state_names[] = {"open",  "first",     "second",
					   "equal", "too noisy", "model does not hold",
					   NULL};

static double utility_of(const struct verdict_design *design, const struct verdict_runs *runs,
			 uint32_t cell, uint32_t repeat)
{
	return runs->utility[(size_t)cell * design->repeats + repeat - 1];
}

/* The repeats that both cells of a pair have. */
static uint32_t common_repeats(const struct verdict_runs *runs, const struct verdict_pair *pair)
{
	return MIN(runs->done[pair->first], runs->done[pair->second]);
}

/*
 * The variance of a run of the cell as the earlier estimate has it; NAN: unknown. Its first known
 * utility is the measure of it, so that later runs do not change what is believed.
 */
static double earlier_variance(const struct verdict_design *design, const struct verdict_runs *runs,
			       uint32_t cell)
{
	const double sd = design->noise ? design->noise[cell] : (double)NAN;

	for (uint32_t repeat = 1; repeat <= runs->done[cell]; repeat++) {
		const double utility = utility_of(design, runs, cell, repeat);

		if (isfinite(utility))
			return sd >= fmax(NOISE_ROUNDING, NOISE_MIN * fabs(utility)) ? sd * sd
										     : (double)NAN;
	}
	return NAN;
}

static struct anytime new_series(const struct verdict_design *design,
				 const struct verdict_runs *runs, const struct verdict_pair *pair)
{
	const double variance = earlier_variance(design, runs, pair->first) +
				earlier_variance(design, runs, pair->second);

	return anytime_new(design->alpha / design->pairs_count, variance, design->noise_df);
}

/*
 * The least number of differences, up to `most`, that tells the two apart or finds them equal, if the
 * mean is `difference` (to tell apart) or `closest` (to be equal); `most` + 1: none.
 */
static uint32_t differences_needed(const struct anytime *series, uint32_t most, double difference,
				   double closest, double margin)
{
	const double variance = anytime_variance(series);
	uint32_t low = series->n + 1;
	uint32_t high = most;

	/* The interval shrinks with every value, so that halving finds it. */
	while (low <= high) {
		const uint32_t middle = low + (high - low) / 2;
		const double half = anytime_half_width(series, middle, variance);

		if (difference > half || closest + half < margin)
			high = middle - 1;
		else
			low = middle + 1;
	}
	return low;
}

/* What is expected of the open pair: how many repeats it needs, or that it is too noisy. */
static void look_ahead(const struct verdict_design *design, const struct anytime *series,
		       uint32_t repeats, struct verdict_finding *finding)
{
	const double difference = fabs(series->mean);
	const double variance = anytime_variance(series);
	const uint32_t left = design->repeats - repeats;
	double error;
	uint32_t needed;

	finding->needs = MAX(repeats + 1, REPEATS_UNKNOWN);
	if (series->n == 0 || isnan(variance))
		return;
	error = sqrt(variance / series->n);
	needed = differences_needed(series, VERDICT_NEVER - 1, difference, difference,
				    finding->margin);
	finding->needs = needed >= VERDICT_NEVER ? VERDICT_NEVER : repeats + needed - series->n;
	if (series->n < DIFFERENCES_MIN && left > 0)
		return;
	needed = differences_needed(series, series->n + left, difference + HOPE * error,
				    fmax(0, difference - HOPE * error), finding->margin);
	if (needed > series->n + left)
		finding->state = VERDICT_NOISY;
}

static enum verdict_state state_of(const struct anytime *series, double margin)
{
	if (series->low > 0)
		return VERDICT_FIRST;
	if (series->high < 0)
		return VERDICT_SECOND;
	return series->low > -margin && series->high < margin ? VERDICT_EQUAL : VERDICT_OPEN;
}

static struct verdict_finding judge_pair(const struct verdict_design *design,
					 const struct verdict_runs *runs,
					 const struct verdict_pair *pair)
{
	const uint32_t repeats = common_repeats(runs, pair);
	struct anytime series = new_series(design, runs, pair);
	struct verdict_finding finding = {.difference = NAN};
	double sum = 0;

	for (uint32_t repeat = 1; repeat <= repeats; repeat++) {
		const double first = utility_of(design, runs, pair->first, repeat);
		const double second = utility_of(design, runs, pair->second, repeat);
		const uint32_t before = series.n;

		anytime_add(&series, first - second);
		sum += series.n > before ? fabs(first) + fabs(second) : 0;
		if (finding.state != VERDICT_OPEN || series.n == 0)
			continue;
		finding.margin = design->equal_within * sum / (2 * series.n);
		if (series.n < DIFFERENCES_MIN) {
			/* The interval rests on the earlier estimate alone: it is no part of the rest. */
			series.low = -INFINITY;
			series.high = INFINITY;
			continue;
		}
		finding.state = state_of(&series, finding.margin);
		finding.decided = finding.state == VERDICT_OPEN ? 0 : repeat;
	}
	finding.n = series.n;
	finding.low = series.low;
	finding.high = series.high;
	finding.difference = series.n ? series.mean : NAN;
	if (series.empty) {
		finding.state = VERDICT_FAILS;
		finding.decided = 0;
		finding.low = -INFINITY;
		finding.high = INFINITY;
	}
	finding.needs = finding.decided;
	if (finding.state == VERDICT_OPEN)
		look_ahead(design, &series, repeats, &finding);
	return finding;
}

void verdict_judge(const struct verdict_design *design, const struct verdict_runs *runs,
		   struct verdict_finding *ret_findings)
{
	for (uint32_t i = 0; i < design->pairs_count; i++)
		ret_findings[i] = judge_pair(design, runs, &design->pairs[i]);
}

/* The part of the decision of a pair that the next run of `cell` is. */
static double part_of(const struct verdict_design *design, const struct verdict_runs *runs,
		      const struct verdict_pair *pair, const struct verdict_finding *finding,
		      uint32_t cell)
{
	const uint32_t other = pair->first == cell ? pair->second : pair->first;
	const uint32_t repeats = common_repeats(runs, pair);
	double needed;

	if (pair->control || finding->state != VERDICT_OPEN ||
	    (pair->first != cell && pair->second != cell) || runs->done[cell] > runs->done[other])
		return 0;
	needed = MIN(finding->needs, design->repeats) - repeats;
	return (runs->done[cell] < runs->done[other] ? 1 : 0.5) / fmax(1, needed);
}

static bool is_in_pair(const struct verdict_design *design, uint32_t cell)
{
	for (uint32_t i = 0; i < design->pairs_count; i++)
		if (design->pairs[i].first == cell || design->pairs[i].second == cell)
			return true;
	return false;
}

bool verdict_choose(const struct verdict_design *design, const struct verdict_runs *runs,
		    const struct verdict_finding *findings, uint32_t *ret_cell)
{
	double best = 0;

	for (uint32_t cell = 0; cell < design->cells; cell++) {
		if (runs->done[cell] == 0 && is_in_pair(design, cell)) {
			*ret_cell = cell;
			return true;
		}
	}
	for (uint32_t cell = 0; cell < design->cells; cell++) {
		double part = 0;

		if (runs->done[cell] >= design->repeats)
			continue;
		for (uint32_t i = 0; i < design->pairs_count; i++)
			part += part_of(design, runs, &design->pairs[i], &findings[i], cell);
		if (part > best ||
		    (part > 0 && part == best && runs->done[cell] < runs->done[*ret_cell])) {
			best = part;
			*ret_cell = cell;
		}
	}
	return best > 0;
}

uint64_t verdict_rest(const struct verdict_design *design, const struct verdict_runs *runs,
		      const struct verdict_finding *findings, uint32_t *ret_never)
{
	g_autofree uint32_t *needs = g_new0(uint32_t, design->cells);
	uint64_t rest = 0;

	*ret_never = 0;
	for (uint32_t i = 0; i < design->pairs_count; i++) {
		const struct verdict_pair *pair = &design->pairs[i];
		const struct verdict_finding *finding = &findings[i];

		if (pair->control ||
		    (finding->state != VERDICT_OPEN && finding->state != VERDICT_NOISY))
			continue;
		if (finding->needs >= VERDICT_NEVER) {
			(*ret_never)++;
			continue;
		}
		needs[pair->first] = MAX(needs[pair->first], finding->needs);
		needs[pair->second] = MAX(needs[pair->second], finding->needs);
	}
	for (uint32_t cell = 0; cell < design->cells; cell++)
		rest += needs[cell] > runs->done[cell] ? needs[cell] - runs->done[cell] : 0;
	return rest;
}
