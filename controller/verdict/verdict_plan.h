/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/config/config_verdict.h"
#include "controller/store/store.h"
#include "controller/verdict/verdict.h"

/*
 * What a measured experiment decides until its verdict: policies, limits and pairs, fixed in its
 * store before the first run, and what its runs say of them so far. Every reader of the store
 * comes to the same verdicts and the same next run.
 */

/* A policy at a limit. */
struct verdict_cell {
	char *policy;
	double limit;
	double utility_sd; /* of simulated repeats; NAN: unknown */
};

struct verdict_plan {
	struct verdict_cell *cells;
	uint32_t cells_count;
	struct verdict_pair *pairs;
	uint32_t pairs_count;
	uint32_t repeats;
	double alpha, equal_within;
	/* The deviations of `cells` were asked for, once each cell of a pair had run. */
	bool noise_asked;
};

/* The policies and limits of an experiment. */
struct verdict_policies {
	const char *const *written; /* as the configuration and the command line name them */
	const char *const *names;   /* as the store does */
	uint32_t count;
	const double *limits;
	uint32_t limits_count;
};

#define VERDICT_ERROR (verdict_error_quark())
GQuark verdict_error_quark(void);
enum verdict_error {
	VERDICT_ERROR_PAIRS = 1, /* a pair has nothing that is run; no pair; too many runs */
	VERDICT_ERROR_CHANGED,   /* the pairs on record are others */
	VERDICT_ERROR_RECORD,    /* the record cannot be read */
};

/*
 * The plan of a section, which may be NULL: every two policies at every limit. Controls come last.
 * Returns a new plan, or NULL with `error` (VERDICT_ERROR_PAIRS).
 */
struct verdict_plan *verdict_plan_new(const struct config_verdict *verdict,
				      const struct verdict_policies *policies, uint32_t repeats,
				      GError **error);

/*
 * The plan on record; NULL without an error: there is none, the runs were not made until a verdict.
 */
struct verdict_plan *verdict_plan_load(struct store *store, GError **error);

/* Records the plan. Returns false with `error` (DATABASE_ERROR). */
bool verdict_plan_save(const struct verdict_plan *plan, struct store *store, GError **error);

/*
 * Whether two plans ask for the same pairs under the same alpha. The number of repeats may differ:
 * intervals hold for any. Otherwise false with `error` (VERDICT_ERROR_CHANGED).
 */
bool verdict_plan_same(const struct verdict_plan *recorded, const struct verdict_plan *wanted,
		       GError **error);

/* The runs of the full design: each cell of a pair as often as it may be run. */
uint32_t verdict_plan_full_runs(const struct verdict_plan *plan);

/* NULL is allowed. */
void verdict_plan_free(struct verdict_plan *plan);
typedef struct verdict_plan verdict_plan_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(verdict_plan_t, verdict_plan_free)

/* What the runs say. */
struct verdict_outcome {
	const struct verdict_plan *plan; /* borrowed */
	struct verdict_design design;
	struct verdict_runs runs;
	struct verdict_finding *findings; /* of each pair */
	double *noise;
	uint32_t made; /* runs that have ended */
	bool all_ran;  /* each cell of a pair has run once */
};

/*
 * Judges the runs of a store (struct store_run) by the plan, borrowed for the life of the result. Of
 * a cell the repeats count that have ended without a gap from 1 on. The caller frees.
 */
struct verdict_outcome *verdict_outcome_new(const struct verdict_plan *plan, const GPtrArray *rows);

/* NULL is allowed. */
void verdict_outcome_free(struct verdict_outcome *outcome);
typedef struct verdict_outcome verdict_outcome_t;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(verdict_outcome_t, verdict_outcome_free)

/*
 * The next run, as cell and repeat: an interrupted one first, then what verdict_choose() wants.
 * False: none is wanted.
 */
bool verdict_outcome_next(const struct verdict_outcome *outcome, const GPtrArray *rows,
			  uint32_t *ret_cell, uint32_t *ret_repeat);

/* The runs that are still expected within the design. */
uint32_t verdict_outcome_expected(const struct verdict_outcome *outcome);
