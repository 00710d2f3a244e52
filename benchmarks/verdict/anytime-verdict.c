/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The anytime verdict against 2,000 synthetic truths (tests/oracle/verdict_truths.h): how often a
 * verdict is wrong, and how many of the runs of the full design it takes. Beside it, on the same
 * runs, the full design itself: each pair by the t interval of all its repeats, with the same alpha
 * divided by the pairs, and with 95 % for each pair alone; and two other anytime methods: the same
 * one without the noise of simulated repeats, and betting on bounded means (Waudby-Smith and Ramdas
 * 2024, "Estimating means of bounded random variables by betting", JRSS-B 86), which assumes
 * nothing but the bounds.
 */
#include <glib.h>
#include <gsl/gsl_cdf.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "benchmarks/host.h"
#include "common/json.h"
#include "controller/report/stats.h"
#include "tests/oracle/verdict_truths.h"

/* A run earns between 0 and so much, in utilities of the best policy: 60 % of what can be earned. */
#define BOUND (100 / 0.6)

struct options {
	int truths, seed, repeats;
	double alpha, equal_within, misjudged;
};

/* Sums over the truths of a kind, or of all. */
struct tally {
	uint32_t truths, wrong, uncovered;
	uint64_t runs, pairs, decided, equal, noisy;
	uint64_t same; /* pairs with the verdict of the full design: the winner, or none */
	uint64_t full_decided, reached; /* pairs that the full design decides, and this one too */
	GArray *shares;                 /* of the runs of the full design */
};

enum method { WITH_NOISE, WITHOUT_NOISE, BETTING, FULL, FULL_PAIRWISE, METHODS };
static const char *const names[] = {"anytime", "anytime without simulated repeats",
				    "betting on bounded means", "full design, alpha / pairs",
				    "full design, 95 % for each pair"};

/* The verdict of all repeats of a pair by the t interval. */
static enum verdict_state full_verdict(const struct verdict_truth *truth,
				       const struct verdict_pair *pair, double level)
{
	g_autofree double *differences = g_new(double, truth->repeats);
	struct stats_interval interval;

	for (uint32_t i = 0; i < truth->repeats; i++)
		differences[i] = truth->utility[(size_t)pair->first * truth->repeats + i] -
				 truth->utility[(size_t)pair->second * truth->repeats + i];
	interval = stats_t_interval(differences, truth->repeats, level);
	switch (stats_interval_sign(&interval)) {
	case STATS_SIGN_POSITIVE:
		return VERDICT_FIRST;
	case STATS_SIGN_NEGATIVE:
		return VERDICT_SECOND;
	case STATS_SIGN_UNCLEAR:
		break;
	}
	return VERDICT_NOISY;
}

/*
 * Two players bet against a difference of at most and of at least 0, each with half of alpha. Their
 * stakes are aGRAPA's (B.3 there), which approximate the fastest growth of the capital. A stake is
 * at most half of the ruinous one.
 */
static enum verdict_state bet(const struct verdict_truth *truth, const struct verdict_pair *pair,
			      double alpha, uint32_t *ret_repeats)
{
	double capital[2] = {1, 1};
	double sum = 0, squares = 0.25;

	for (uint32_t i = 0; i < truth->repeats; i++) {
		const double x = (truth->utility[(size_t)pair->first * truth->repeats + i] -
				  truth->utility[(size_t)pair->second * truth->repeats + i]) /
				 BOUND;
		const double mean = sum / (i + 1);
		const double variance = fmax(squares / (i + 1) - mean * mean, 1e-6);

		for (int side = 0; side < 2; side++) {
			const double signed_mean = side ? -mean : mean;
			const double stake = CLAMP(signed_mean / (variance + mean * mean), 0, 0.5);

			capital[side] *= 1 + stake * (side ? -x : x);
			*ret_repeats = i + 1;
			if (capital[side] >= 2 / alpha)
				return side ? VERDICT_SECOND : VERDICT_FIRST;
		}
		sum += x;
		squares += x * x;
	}
	return VERDICT_NOISY;
}

static bool is_winner(enum verdict_state state)
{
	return state == VERDICT_FIRST || state == VERDICT_SECOND;
}

static void count(struct tally *tally, const struct verdict_truth *truth,
		  const enum verdict_state *states, const enum verdict_state *full, uint32_t runs,
		  bool uncovered, double equal_within)
{
	const double share = (double)runs / (VERDICT_TRUTH_CELLS * truth->repeats);
	bool wrong = false;

	for (uint32_t i = 0; i < VERDICT_TRUTH_PAIRS; i++) {
		wrong = wrong ||
			verdict_truth_is_wrong(truth, &truth->pairs[i], states[i], equal_within);
		tally->decided += is_winner(states[i]);
		tally->equal += states[i] == VERDICT_EQUAL;
		tally->noisy += states[i] == VERDICT_NOISY || states[i] == VERDICT_OPEN ||
				states[i] == VERDICT_FAILS;
		tally->same += is_winner(full[i]) ? states[i] == full[i] : !is_winner(states[i]);
		tally->full_decided += is_winner(full[i]);
		tally->reached += is_winner(full[i]) && states[i] == full[i];
	}
	tally->pairs += VERDICT_TRUTH_PAIRS;
	tally->truths++;
	tally->wrong += wrong;
	tally->uncovered += uncovered;
	tally->runs += runs;
	if (!tally->shares)
		tally->shares = g_array_new(FALSE, FALSE, sizeof(double));
	g_array_append_val(tally->shares, share);
}

static void play(const struct options *options, const struct verdict_truth *truth,
		 enum method method, const enum verdict_state *full, struct tally *tally)
{
	enum verdict_state states[VERDICT_TRUTH_PAIRS];
	uint32_t runs = VERDICT_TRUTH_CELLS * truth->repeats;
	bool uncovered = false;
	struct verdict_play played;
	uint32_t repeats;

	if (method == WITH_NOISE || method == WITHOUT_NOISE) {
		played = verdict_truth_play(truth, options->alpha, options->equal_within,
					    method == WITH_NOISE);
		runs = played.runs;
		uncovered = played.uncovered;
	}
	for (uint32_t i = 0; i < VERDICT_TRUTH_PAIRS; i++)
		states[i] =
			method == WITH_NOISE || method == WITHOUT_NOISE ? played.findings[i].state
			: method == BETTING ? bet(truth, &truth->pairs[i],
						  options->alpha / VERDICT_TRUTH_PAIRS, &repeats)
			: method == FULL    ? full[i]
					    : full_verdict(truth, &truth->pairs[i], 0.95);
	count(&tally[truth->kind], truth, states, full, runs, uncovered, options->equal_within);
	count(&tally[VERDICT_TRUTH_KINDS], truth, states, full, runs, uncovered,
	      options->equal_within);
}

/* The upper 95 % bound of a probability (Clopper and Pearson 1934, one-sided). */
static double upper_bound(uint32_t count, uint32_t of)
{
	double low = 0, high = 1;

	for (int i = 0; i < 60; i++) {
		const double middle = (low + high) / 2;

		if (gsl_cdf_binomial_P(count, middle, of) > 0.05)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static json_t *tally_json(const struct tally *tally)
{
	return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "truths",
			 (int)tally->truths, "wrong", (int)tally->wrong, "wrong_rate",
			 (double)tally->wrong / tally->truths, "wrong_upper_95",
			 upper_bound(tally->wrong, tally->truths), "uncovered_rate",
			 (double)tally->uncovered / tally->truths, "runs_share_mean",
			 stats_mean(stats_values(tally->shares), tally->shares->len),
			 "runs_share_median",
			 stats_median(stats_values(tally->shares), tally->shares->len),
			 "pairs_decided", (double)tally->decided / (double)tally->pairs,
			 "pairs_equal", (double)tally->equal / (double)tally->pairs,
			 "pairs_too_noisy", (double)tally->noisy / (double)tally->pairs,
			 "pairs_as_full_design", (double)tally->same / (double)tally->pairs,
			 "of_full_design_decided",
			 tally->full_decided ? (double)tally->reached / (double)tally->full_decided
					     : 1);
}

static json_t *methods_json(const struct options *options)
{
	static const char *const kinds[] = {"ties", "near ties", "as the paper's testbed",
					    "anything", "all"};
	struct tally tallies[METHODS][VERDICT_TRUTH_KINDS + 1] = {0};
	json_t *object = json_object();

	for (int number = 0; number < options->truths; number++) {
		enum verdict_state full[VERDICT_TRUTH_PAIRS];
		struct verdict_truth truth;

		verdict_truth_init(&truth, (uint64_t)options->seed, (uint32_t)number,
				   (uint32_t)options->repeats, options->misjudged);
		for (uint32_t i = 0; i < VERDICT_TRUTH_PAIRS; i++)
			full[i] = full_verdict(&truth, &truth.pairs[i],
					       1 - options->alpha / VERDICT_TRUTH_PAIRS);
		for (int method = 0; method < METHODS; method++)
			play(options, &truth, method, full, tallies[method]);
		verdict_truth_clear(&truth);
	}
	for (int method = 0; method < METHODS; method++) {
		json_t *list = json_object();

		for (int kind = VERDICT_TRUTH_KINDS; kind >= 0; kind--) {
			struct tally *tally = &tallies[method][kind];

			if (kind == VERDICT_TRUTH_KINDS || method < BETTING)
				json_object_set_new(list, kinds[kind], tally_json(tally));
			g_array_unref(tally->shares);
		}
		json_object_set_new(object, names[method], list);
	}
	return object;
}

int main(int argc, char **argv)
{
	struct options options = {
		.truths = 2000,
		.seed = 1,
		.repeats = 20,
		.alpha = VERDICT_ALPHA,
		.equal_within = VERDICT_EQUAL_WITHIN,
		.misjudged = 1,
	};
	const GOptionEntry entries[] = {
		{"truths", 0, 0, G_OPTION_ARG_INT, &options.truths, "Synthetic truths", "N"},
		{"seed", 0, 0, G_OPTION_ARG_INT, &options.seed, "Of the truths", "N"},
		{"repeats", 0, 0, G_OPTION_ARG_INT, &options.repeats, "Of the full design", "N"},
		{"alpha", 0, 0, G_OPTION_ARG_DOUBLE, &options.alpha, "Of all pairs together", "P"},
		{"equal-within", 0, 0, G_OPTION_ARG_DOUBLE, &options.equal_within,
		 "Equal within this fraction", "F"},
		{"misjudged", 0, 0, G_OPTION_ARG_DOUBLE, &options.misjudged,
		 "The noise of simulated repeats, in true ones", "F"},
		{NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(json_t) object = NULL;
	g_autofree char *text = NULL;
	const double load_before = host_load();

	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || options.truths < 8 ||
	    options.repeats < 2)
		g_error("%s", error ? error->message : "too few truths or repeats");
	object = json_pack("{s:o, s:i, s:i, s:f, s:f, s:f, s:o}", "host", host_json(load_before),
			   "repeats", options.repeats, "seed", options.seed, "alpha", options.alpha,
			   "equal_within", options.equal_within, "misjudged", options.misjudged,
			   "methods", methods_json(&options));
	json_object_set_new(object, "cpu_s", json_real(host_cpu_s()));
	text = json_pretty(object);
	puts(text);
	return 0;
}
