/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/stats.h"
#include "controller/report/summary.h"

/*
 * Measured against simulated: do both rank the policies alike?
 *
 * Which simulated runs. A measured experiment has one workload. If the simulation ran that very
 * workload too (trial 1 of the same seed, with the same arrivals) and the noise of measuring can be
 * simulated, it is judged on that: another workload may well rank the policies differently, and
 * that would not be the simulation's fault. Otherwise it is judged on the mean over its trials.
 * Tables show both.
 *
 * By what. Policies are ranked by utility, and where hosts are shared in time by the mean bounded stretch
 * of their tasks (stretch.h), of which less is better, as Stillwell 2010 does.
 *
 * For every pair of policies A, B at every limit the difference A - B of that is estimated on
 * both sides, with a 95 % interval. The intervals are paired: both policies met the same arrivals.
 * What they are formed from depends on what there is, and every table says which (enum
 * compare_basis):
 *
 * - two or more repeats (or trials): the differences per repeat (trial), Student's t. Over repeats
 *   this is the noise of measuring one workload again; over trials it is that of drawing other
 *   workloads.
 * - one run: repeats cannot tell. If the run directory's configuration can be simulated, the
 *   measurement is repeated in simulation: the same arrivals, policy and limit, with every
 *   execution time and energy multiplied by ratios measured/estimated drawn from those that the run
 *   itself observed on that cluster. The deviation of utility over these simulated repeats stands
 *   for that of measuring again (resampling.h); the interval is centred on what was measured (or
 *   simulated without noise). It holds the noise of execution times and what follows from it in the
 *   queue, but not that of boots or the host.
 * - else the utilities of the run's own tasks: differences per task in order of arrival, circular
 *   block bootstrap (stats_block_interval()). This is wider: it asks what other tasks of the kind
 *   would have shown.
 *
 * A difference is clear when its interval leaves out 0. A pair is
 * - SAME when it is clear on both sides with one sign;
 * - OPPOSITE when the signs differ, at least one side is clear, and the two differences differ from
 *   one another by more than chance allows (the 99 % interval of measured - simulated, Welch,
 *   leaves out 0);
 * - else too noisy to tell.
 *
 * Verdict: differ if any pair is OPPOSITE; agree if none is and at least one pair is SAME; else too
 * noisy. For a pair of policies that truly earn the same, chance alone says OPPOSITE less than once
 * in 100 and SAME once in 800 (2 x 0.025 x 0.025).
 */

/* What an interval rests on. */
enum compare_basis {
	COMPARE_BASIS_NONE = 0,  /* nothing to form one from */
	COMPARE_BASIS_REPEATS,   /* paired t over repeats of one workload */
	COMPARE_BASIS_TRIALS,    /* paired t over trials, a workload each */
	COMPARE_BASIS_SIMULATED, /* one run; deviation of simulated repeats of it */
	COMPARE_BASIS_TASKS,     /* one run; block bootstrap over its tasks */
};

/* "repeats", "trials", "simulated repeats", "tasks", "none". */
const char *compare_basis_name(enum compare_basis basis);

/* What both sides together say about a pair; zero: too noisy to tell. */
enum compare_order { COMPARE_NOISY = 0, COMPARE_SAME, COMPARE_OPPOSITE };

/* "too noisy", "same", "opposite". */
const char *compare_order_name(enum compare_order order);

enum compare_verdict { COMPARE_TOO_NOISY = 0, COMPARE_AGREE, COMPARE_DIFFER };

/* "too noisy", "agree", "differ". */
const char *compare_verdict_name(enum compare_verdict verdict);

/* What policies are ranked by; zero: utility. */
enum compare_measure { COMPARE_BY_UTILITY = 0, COMPARE_BY_STRETCH };

/* "utility", "stretch". */
const char *compare_measure_name(enum compare_measure measure);

/* The difference of the measure of one pair on one side: first policy less second. */
struct compare_difference {
	struct stats_interval interval;
	enum compare_basis basis;
};

/* A pair of policies at a limit. The names are borrowed from the measured summary. */
struct compare_pair {
	double limit;
	const char *first, *second;
	struct compare_difference measured, simulated;
	/* Simulated, over all trials; the same as `simulated` where those are judged on. */
	struct compare_difference trials;
	enum compare_order order;
};

/*
 * Rank correlation of the measure over the policies of a limit: measured means against what the
 * simulation is judged on.
 */
struct compare_rank {
	double limit; /* NAN: over all limits (pairs within a limit only) */
	uint32_t policies;
	double tau_b; /* NAN: all tied on one side, or fewer than two policies */
};

struct compare {
	const struct summary *measured, *simulated; /* borrowed */
	enum compare_measure measure;
	bool same_arrivals; /* judged on the one simulated run with the measured arrivals */
	GArray *pairs;      /* struct compare_pair, by limit, then in the order of policies */
	GArray *ranks;      /* struct compare_rank, by limit; the last one over all */
	GArray *accuracies; /* struct accuracy, by cluster; the last one over all */
	GPtrArray *missing; /* char *: cells that only one side has */
	uint32_t same, opposite, noisy;
	enum compare_verdict verdict;
};
typedef struct compare compare_t; /* for g_autoptr() */

/*
 * The deviation of a run's measure from one repeat to the next, by simulated repeats (resampling.h).
 * Called for cells that have one run only; fills *ret_sd and the number of repeats behind it.
 * Returns false when it cannot tell.
 */
struct compare_resampling {
	bool (*sd)(struct compare_resampling *noise, enum compare_measure measure, const char *policy,
		   double limit, double *ret_sd, uint32_t *ret_repeats);
};

#define COMPARE_ERROR (compare_error_quark())
GQuark compare_error_quark(void);
/* Codes of COMPARE_ERROR; bad input. */
enum compare_error {
	COMPARE_ERROR_KIND = 1, /* the first is not measured, or the second not simulated */
	COMPARE_ERROR_NOTHING,  /* no limit at which both have the same two policies */
};

/*
 * Compares a measured experiment with a simulated one (both borrowed for the life of the result).
 * `noise` serves both sides and may be NULL. `trials`: judge the simulation on its trials even
 * where it ran the measured arrivals. Returns a new comparison that the caller frees with
 * compare_free(), or NULL with `error` set (COMPARE_ERROR, STORE_ERROR).
 */
struct compare *compare_new(const struct summary *measured, const struct summary *simulated,
			    struct compare_resampling *noise, bool trials, GError **error);

/* NULL is allowed. */
void compare_free(struct compare *compare);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(compare_t, compare_free)

/* What the simulation of a policy under a limit is judged on; NAN where it did not run. */
double compare_simulated_utility(const struct compare *compare, const char *policy, double limit);
double compare_simulated_stretch(const struct compare *compare, const char *policy, double limit);
double compare_simulated_energy_j(const struct compare *compare, const char *policy, double limit);

/* The verdict in a sentence, with what it rests on. The caller frees. */
char *compare_sentence(const struct compare *compare);

/* The whole comparison as JSON; field names carry units. New reference. */
json_t *compare_json(const struct compare *compare);

/* The comparison as tables for a person. The caller frees. */
char *compare_text(const struct compare *compare);
