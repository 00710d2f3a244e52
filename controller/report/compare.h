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
 * For every pair of policies A, B at every limit the difference of utility A - B is estimated on both
 * sides, with a 95 % interval. The intervals are paired: both policies met the same arrivals. What they
 * are formed from depends on what there is, and every table says which (enum compare_basis):
 *
 * - two or more repeats (or trials): the differences per repeat (trial), Student's t. Over repeats this
 *   is the noise of measuring one workload again; over trials it is that of drawing other workloads.
 * - one run each: repeats cannot tell. If the run directory's configuration can be simulated, the
 *   measurement is repeated in simulation: the same arrivals, policy and limit, with every execution time and energy
 *   multiplied by a ratio measured/estimated drawn from those that the run itself observed on that cluster.
 *   The deviation of utility over these simulated repeats stands for that of measuring again
 *   (struct compare_noise); the interval is centred on what was measured. It knows the noise of execution times and
 *   what follows from them in the queue, but not that of boots, arrivals or the host.
 * - else the utilities of the run's own tasks: differences per task in order of arrival, circular block
 *   bootstrap (stats_block_interval()). This is wider: it asks what other tasks of this kind would have shown.
 *
 * A difference is clear when its interval leaves out 0. A pair is SAME when it is clear on both sides with
 * one sign, OPPOSITE when clear on both with different signs, else too noisy to tell.
 *
 * Verdict: differ if any pair is OPPOSITE; agree if none is and at least one pair is SAME; else too noisy.
 * With 95 % intervals on both sides, chance alone makes a pair of equal policies OPPOSITE once in
 * 800 (2 x 0.025 x 0.025).
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

/* What both sides together say about a pair. */
enum compare_order { COMPARE_NOISY = 0, COMPARE_SAME, COMPARE_OPPOSITE };

/* "too noisy", "same", "opposite". */
const char *compare_order_name(enum compare_order order);

enum compare_verdict { COMPARE_TOO_NOISY = 0, COMPARE_AGREE, COMPARE_DIFFER };

/* "too noisy", "agree", "differ". */
const char *compare_verdict_name(enum compare_verdict verdict);

/* The difference of utility of one pair on one side: first policy less second. */
struct compare_difference {
	struct stats_interval interval;
	enum compare_basis basis;
};

/* A pair of policies at a limit. The names are borrowed from the measured summary. */
struct compare_pair {
	double limit;
	const char *first, *second;
	struct compare_difference measured, simulated;
	enum compare_order order;
};

/* Rank correlation of mean utilities, measured against simulated, over the policies of a limit. */
struct compare_rank {
	double limit; /* NAN: over all limits (pairs within a limit only) */
	uint32_t policies;
	double tau_b; /* NAN: all tied on one side, or fewer than two policies */
};

/* How far measured execution times were from their estimates, over completed tasks of one cluster. */
struct compare_accuracy {
	char *cluster; /* NULL: over all */
	uint32_t n;
	double median_error; /* median of |measured / ETC - 1| */
	double median_ratio; /* median of measured / ETC */
};

struct compare {
	const struct summary *measured, *simulated; /* borrowed */
	GArray *pairs;      /* struct compare_pair, by limit, then in the order of policies */
	GArray *ranks;      /* struct compare_rank, by limit; the last one over all */
	GArray *accuracies; /* struct compare_accuracy, by cluster; the last one over all */
	GPtrArray *missing; /* char *: cells that only one side has */
	uint32_t same, opposite, noisy;
	enum compare_verdict verdict;
};
typedef struct compare compare_t; /* for g_autoptr() */

/*
 * The deviation of a run's utility from one repeat to the next, by simulated repeats (noise.h). Called
 * for cells that have one run only; fills *ret_sd and the number of repeats behind it. Returns false when it
 * cannot tell.
 */
struct compare_noise {
	bool (*utility_sd)(const struct compare_noise *noise, const char *policy, double limit,
			   double *ret_sd, uint32_t *ret_repeats);
};

#define COMPARE_ERROR (compare_error_quark())
GQuark compare_error_quark(void);
/* Codes of COMPARE_ERROR; bad input. */
enum compare_error {
	COMPARE_ERROR_KIND = 1, /* the first is not measured, or the second not simulated */
	COMPARE_ERROR_NOTHING,  /* no limit at which both have the same two policies */
};

/*
 * Compares a measured experiment with a simulated one (both borrowed for the life of the result). `noise`
 * serves both sides and may be NULL. Returns a new comparison that the caller frees with compare_free(), or
 * NULL with `error` set (COMPARE_ERROR, STORE_ERROR).
 */
struct compare *compare_new(const struct summary *measured, const struct summary *simulated,
			    const struct compare_noise *noise, GError **error);

/* NULL is allowed. */
void compare_free(struct compare *compare);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(compare_t, compare_free)

/* The verdict in a sentence, with what it rests on. The caller frees. */
char *compare_sentence(const struct compare *compare);

/* The whole comparison as JSON; field names carry units. New reference. */
json_t *compare_json(const struct compare *compare);

/* The comparison as tables for a person. The caller frees. */
char *compare_text(const struct compare *compare);
