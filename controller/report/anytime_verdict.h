/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "controller/verdict/verdict_plan.h"

/* What a run until its verdict has decided, for tables and JSON. */

struct anytime_verdict {
	struct verdict_plan *plan;
	struct verdict_outcome *outcome;
	GPtrArray *rows; /* struct store_run: all runs */
	/* "decided": no run is wanted; "hours": the hours were over; NULL: it has not ended */
	char *why;
	double run_s; /* what a run takes in the mean, with what is before it; NAN: unknown */
};

/*
 * Judges the runs of a store. NULL without an error: they were not made until a verdict. NULL with
 * `error` (DATABASE_ERROR, VERDICT_ERROR).
 */
struct anytime_verdict *anytime_verdict_load(struct store *store, GError **error);

/* NULL is allowed. */
void anytime_verdict_free(struct anytime_verdict *verdict);
typedef struct anytime_verdict anytime_verdict_t; /* for g_autoptr() */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(anytime_verdict_t, anytime_verdict_free)

/*
 * What is known of two policies at a limit; `ret_finding` has the difference of the first less the
 * second. False: the pair was not asked for, or is a control.
 */
bool anytime_verdict_find(const struct anytime_verdict *verdict, const char *first,
			  const char *second, double limit, struct verdict_finding *ret_finding);

/* Whether a control is decided: policies that are equal by design differ. */
bool anytime_verdict_control_differs(const struct anytime_verdict *verdict);

/* The runs it took, and what the rest would cost, in one sentence. The caller frees. */
char *anytime_verdict_cost(const struct anytime_verdict *verdict);

/* All pairs as a table with its notes. The caller frees. */
char *anytime_verdict_text(const struct anytime_verdict *verdict);

/* The same as JSON; new reference. */
json_t *anytime_verdict_json(const struct anytime_verdict *verdict);
