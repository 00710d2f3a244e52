/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/stats.h"
#include "controller/report/summary.h"

/*
 * Compares the order of the policies, measured against simulated.
 *
 * Simulated runs. A measured experiment has one workload. If the simulation ran that workload too
 * (trial 1 of the same seed, with the same arrivals) and the noise of measuring can be simulated,
 * only that trial is compared: another workload may rank the policies differently without any fault
 * of the simulation. Otherwise the mean over all trials is compared. Tables show both.
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
 * - one run: if the run directory's configuration can be simulated, the measurement is repeated in
 * simulation: the same arrivals, policy and limit, with every execution time and energy multiplied
 * by ratios measured/estimated drawn from those that the run itself observed on that cluster. The
 * deviation of utility over these simulated repeats stands for that of measuring again
 * (resampling.h); the interval is centred on the measured value (or the value simulated without
 * noise). It contains the noise of execution times and its effects on the queue, but not that of
 * boots or the host.
 * - else the utilities of the run's own tasks: differences per task in order of arrival, circular
 * block bootstrap (stats_block_interval()). This is wider: it estimates the effect of other tasks
 * of the same kind.
 *
 *
 * A difference is clear when its interval excludes 0. A pair is
 * - SAME when it is clear on both sides with the same sign;
 * - OPPOSITE when the signs differ, at least one side is clear, and the two differences differ from
 * each other by more than chance allows (the 99 % interval of measured - simulated, Welch, excludes
 * 0);
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

/* A measure; policies are ranked by one of the first two; zero: utility. */
enum compare_measure { COMPARE_BY_UTILITY = 0, COMPARE_BY_STRETCH, COMPARE_ENERGY_J };

/* "utility", "stretch", "energy_j". */
const char *compare_measure_name(enum compare_measure measure);

/* The difference of the measure of a pair on one side: first policy less second. */
struct compare_difference {
	struct stats_interval interval;
	enum compare_basis basis;
};

/* A pair of policies at a limit. The names are borrowed from the measured summary. */
struct compare_pair {
	double limit;
	const char *first, *second;
	struct compare_difference measured, simulated;
	/* Simulated, over all trials; equal to `simulated` where the trials are compared. */
	struct compare_difference trials;
	enum compare_order order;
};

/*
 * Rank correlation of the measure over the policies of a limit: measured means against the
 * simulated values that are compared.
 */
struct compare_rank {
	double limit; /* NAN: over all limits (pairs within a limit only) */
	uint32_t policies;
	double tau_b; /* NAN: all tied on one side, or fewer than two policies */
};

struct compare {
	const struct summary *measured, *simulated; /* borrowed */
	enum compare_measure measure;
	bool same_arrivals; /* only the simulated run with the measured arrivals is compared */
	GArray *pairs;      /* struct compare_pair, by limit, then in the order of policies */
	GArray *ranks;      /* struct compare_rank, by limit; the last one over all */
	GArray *accuracies; /* struct accuracy, by cluster; the last one over all */
	GPtrArray *missing; /* char *: cells of only one side */
	uint32_t same, opposite, noisy;
	enum compare_verdict verdict;
};
typedef struct compare compare_t; /* for g_autoptr() */

/*
 * Estimates the deviation of a run's measure from one repeat to the next by simulated repeats
 * (resampling.h). Called for cells with a single run; fills *ret_sd and the number of repeats
 * behind it. Returns false where it has no estimate.
 */
struct compare_resampling {
	bool (*sd)(struct compare_resampling *noise, enum compare_measure measure,
		   const char *policy, double limit, double *ret_sd, uint32_t *ret_repeats);
};

#define COMPARE_ERROR (compare_error_quark())
GQuark compare_error_quark(void);
/* Codes of COMPARE_ERROR; bad input. */
enum compare_error {
	COMPARE_ERROR_KIND = 1, /* the first is not measured, or the second not simulated */
	COMPARE_ERROR_NOTHING,  /* no limit has two policies that both sides ran */
};

/*
 * Compares a measured experiment with a simulated one (both borrowed for the life of the result).
 * `noise` serves both sides and may be NULL. `trials`: compare the simulation's trials even where
 * it ran the measured arrivals. Returns a new comparison that the caller frees with compare_free(),
 * or NULL with `error` (COMPARE_ERROR, DATABASE_ERROR).
 */
struct compare *compare_new(const struct summary *measured, const struct summary *simulated,
			    struct compare_resampling *noise, bool trials, GError **error);

/* NULL is allowed. */
void compare_free(struct compare *compare);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(compare_t, compare_free)

/* A measure of a cell, the mean over its runs. */
double compare_cell_value(enum compare_measure measure, const struct summary_cell *cell);

/* The simulated value of a policy under a limit that is compared; NAN where it did not run. */
double compare_simulated(const struct compare *compare, enum compare_measure measure,
			 const char *policy, double limit);

/* The verdict in a sentence, with its basis. The caller frees. */
char *compare_sentence(const struct compare *compare);

/* The whole comparison as JSON; field names carry units. New reference. */
json_t *compare_json(const struct compare *compare);

/* The comparison as tables for a person. The caller frees. */
char *compare_text(const struct compare *compare);
