/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/compare_side.h"
#include "controller/report/stats.h"
#include "controller/report/summary.h"

/*
 * Compares the order of the policies on two sides (compare_side.h): measured against simulated, and
 * as well measured against measured (two machines, two days) or simulated against simulated. What
 * the two directories have on record is compared; nothing here depends on the policies of this
 * build.
 *
 * Simulated runs beside measured ones. A measured experiment has one workload. If the simulation
 * ran that workload too (trial 1 of the same seed, with the same arrivals) and the noise of
 * measuring is known, only that trial is compared: another workload may rank the policies
 * differently without any fault of the simulation. Otherwise the mean over all trials is compared.
 * Tables show both.
 *
 * Measure. Policies are ranked by utility, and where hosts are shared in time by the mean bounded
 * stretch of their tasks (stretch.h), of which less is better, as in Stillwell 2010.
 *
 * For every pair of policies A, B at every limit the difference A - B of the measure is estimated
 * on both sides, with a 95 % interval. The intervals are paired, since both policies had the same
 * arrivals. Their basis depends on the data, and every table names it (enum compare_basis):
 *
 *
 * - two or more repeats (or trials): the differences per repeat (trial), Student's t. Over repeats
 * this is the noise of measuring one workload again; over trials that of drawing other workloads.
 * - one run whose noise is known: the measurement was repeated in simulation when it was made, or is
 * on request: the same arrivals, policy and limit, with every execution time and energy multiplied
 * by ratios measured/estimated drawn from those that the run itself observed on that cluster. The
 * deviation of utility over these simulated repeats stands for that of measuring again
 * (resampling.h); the interval is centred on the measured value (or the value simulated without
 * noise). It contains the noise of execution times and its effects on the queue, but not that of
 * boots or the host.
 * - else the utilities of the run's own tasks: differences per task in order of arrival, circular
 * block bootstrap (stats_block_interval()). This is wider: it estimates the effect of other tasks
 * of the same kind.
 * - runs that were made until their verdict have the intervals of that verdict, which hold whenever
 * the runs stopped; t intervals would be too narrow. Only the pairs that were asked for beforehand
 * are compared.
 *
 *
 * A difference is clear when its interval excludes 0. A pair is
 * - SAME when it is clear on both sides with the same sign;
 * - OPPOSITE when the signs differ, at least one side is clear, and the two differences differ from
 * each other by more than chance allows (the 99 % interval of measured - simulated, Welch, excludes
 * 0; until a verdict: its interval and the 99 % interval of the other side have nothing in common);
 * - else too noisy.
 *
 *
 * Verdict: differ if any pair is OPPOSITE; agree if none is and at least one pair is SAME; else too
 * noisy. For two policies with truly equal utility, chance alone gives OPPOSITE less than once in
 * 100 and SAME once in 800 (2 x 0.025 x 0.025).
 */

/* The basis of an interval. */
enum compare_basis {
	COMPARE_BASIS_NONE = 0,  /* no data for an interval */
	COMPARE_BASIS_REPEATS,   /* paired t over repeats of a workload */
	COMPARE_BASIS_TRIALS,    /* paired t over trials, a workload each */
	COMPARE_BASIS_SIMULATED, /* one run; deviation of simulated repeats of it */
	COMPARE_BASIS_TASKS,     /* one run; block bootstrap over its tasks */
	COMPARE_BASIS_VERDICT,   /* runs until their verdict; valid at any number (verdict.h) */
};

/* "repeats", "trials", "simulated repeats", "tasks", "none". */
const char *compare_basis_name(enum compare_basis basis);

/* The outcome of a pair; zero: too noisy. */
enum compare_order { COMPARE_NOISY = 0, COMPARE_SAME, COMPARE_OPPOSITE };

/* "too noisy", "same", "opposite"; NULL-terminated. */
extern const char *const compare_order_names[];

enum compare_verdict { COMPARE_TOO_NOISY = 0, COMPARE_AGREE, COMPARE_DIFFER };

/* "too noisy", "agree", "differ". */
const char *compare_verdict_name(enum compare_verdict verdict);

/* "utility", "stretch", "energy_j". */
const char *compare_measure_name(enum compare_measure measure);

/* The difference of the measure of a pair on one side: first policy less second. */
struct compare_difference {
	struct stats_interval interval;
	enum compare_basis basis;
};

/* A pair of policies at a limit. The names are borrowed from the first side. */
struct compare_pair {
	double limit;
	const char *first, *second;
	struct compare_difference sides[2];
	/* The second side over all of its runs; equal to sides[1] where these are compared. */
	struct compare_difference trials;
	enum compare_order order;
};

/*
 * Rank correlation of the measure over the policies of a limit: the means of the first side against
 * the values of the second that are compared.
 */
struct compare_rank {
	double limit; /* NAN: over all limits (pairs within a limit only) */
	uint32_t policies;
	double tau_b; /* NAN: all tied on one side, or fewer than two policies */
};

struct compare {
	const struct compare_sides *sides; /* borrowed */
	enum compare_measure measure;
	/* mixed: only the simulated run with the measured arrivals is compared */
	bool same_arrivals;
	bool equal_arrivals; /* both sides have runs on the same arrivals */
	GArray *pairs;       /* struct compare_pair, by limit, then in the order of policies */
	GArray *ranks;       /* struct compare_rank, by limit; the last one over all */
	/* struct accuracy, by cluster, the last one over all; NULL: the side is simulated */
	GArray *accuracies[2];
	GArray *deviations; /* struct deviation */
	GPtrArray *missing; /* char *: cells of only one side */
	uint32_t same, opposite, noisy;
	enum compare_verdict verdict;
	char *because; /* for the sentence of "differ", set by the caller; NULL: not known */
};
typedef struct compare compare_t; /* for g_autoptr() */

#define COMPARE_ERROR (compare_error_quark())
GQuark compare_error_quark(void);
/* Codes of COMPARE_ERROR; bad input. */
enum compare_error {
	COMPARE_ERROR_NOTHING = 1, /* no limit has two policies that both sides ran */
	COMPARE_ERROR_BASELINE,    /* the policy that ratios refer to is not on both sides */
};

/*
 * Compares two sides, borrowed for the life of the result. A simulated run on the measured arrivals
 * has the noise of the measured side. `trials`: compare the simulation's trials even where it ran
 * the measured arrivals. Returns a new comparison that the caller frees with compare_free(), or
 * NULL with `error` (COMPARE_ERROR, DATABASE_ERROR).
 */
struct compare *compare_new(const struct compare_sides *sides, bool trials, GError **error);

/* NULL is allowed. */
void compare_free(struct compare *compare);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(compare_t, compare_free)

/* The order of a pair by its intervals on both sides. */
enum compare_order compare_pair_order(const struct compare_pair *pair);

/* A measure of a run of the summary; NAN: unknown. */
double compare_run_value(enum compare_measure measure, const struct summary *summary,
			 const struct store_run *run);

/* A measure of a cell, the mean over its runs. */
double compare_cell_value(enum compare_measure measure, const struct summary_cell *cell);

/* The value of a policy under a limit on side 0 or 1 that is compared; NAN where it did not run. */
double compare_value(const struct compare *compare, guint side, enum compare_measure measure,
		     const char *policy, double limit);

/* The verdict in a sentence, with its basis. The caller frees. */
char *compare_sentence(const struct compare *compare);

/*
 * What may decide a comparison that is too noisy and in which the simulated side alone is unclear
 * of some pairs, as "more repeats do not help: ...", without a full stop. The caller frees. NULL: of any
 * other comparison.
 */
char *compare_advice(const struct compare *compare);

/* The whole comparison as JSON; field names carry units. New reference. */
json_t *compare_json(const struct compare *compare);

/* The comparison as tables for a person. The caller frees. */
char *compare_text(const struct compare *compare);
