/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/verdict/anytime.h"

/*
 * The anytime verdict: which of two policies earns more at a limit, pair by pair, judged after every
 * run, and which run is to be next (docs/explanation/verdict.md).
 *
 * A *cell* is a policy at a limit. Its runs are repeats 1, 2, ... of one workload, so that the runs
 * of a pair's two cells with the same number form a difference. Each pair has the confidence
 * sequence of its differences (anytime.h), with its part of `alpha`: alpha / pairs (Bonferroni).
 * With probability 1 - alpha all intervals of all pairs hold at all times, whatever was run in which
 * order, since the differences of a pair are the same whenever they are looked at: the order of the
 * runs says only how many of them there are.
 */

/* What is known of a pair; zero: more runs may decide it. One difference decides none. */
enum verdict_state {
	VERDICT_OPEN = 0,
	VERDICT_FIRST,  /* the first policy earns more */
	VERDICT_SECOND, /* the second one does */
	VERDICT_EQUAL,  /* their difference is within verdict_design.equal_within */
	VERDICT_NOISY,  /* the runs that are left would hardly decide it */
	/*
	 * Its intervals contradict one another. That is one of the `alpha` cases, or its differences
	 * are not what anytime.h assumes: nothing is known of it, whatever had been decided.
	 */
	VERDICT_FAILS,
};

/* "open", "first", "second", "equal", "too noisy", "model does not hold"; NULL-terminated. */
extern const char *const verdict_state_names[];

struct verdict_pair {
	uint32_t first, second; /* cells, two different ones */
	bool control;           /* equal by design */
};

/* What is asked, fixed beforehand. */
struct verdict_design {
	uint32_t cells;
	uint32_t repeats; /* of a cell, at most: those of the full design */
	struct verdict_pair *pairs;
	uint32_t pairs_count;
	double alpha;        /* of all pairs together */
	double equal_within; /* a fraction of what the two earn in the mean; 0: never equal */
	/*
	 * Per cell the deviation of a run as an earlier estimate has it (simulated repeats), and its
	 * degrees of freedom; NULL: there is none. NAN: none of this cell. One below half a percent
	 * of what the cell earns counts as none.
	 */
	const double *noise;
	double noise_df;
};

/* The runs so far. */
struct verdict_runs {
	uint32_t *done;  /* per cell: repeats 1 .. done have ended */
	double *utility; /* cells x repeats (row = cell); NAN: unknown */
};

/* A pair, judged. */
struct verdict_finding {
	enum verdict_state state;
	uint32_t n;        /* differences behind it */
	double difference; /* first less second, the mean; NAN: none */
	double low, high;  /* infinite: unknown */
	double margin;     /* within which it would be equal, in utility */
	uint32_t decided;  /* repeats of both cells after which it was decided; 0: it is not */
	/*
	 * Repeats of both cells after which it would be decided, if mean and deviation stay as they
	 * are; VERDICT_NEVER: more than that.
	 */
	uint32_t needs;
};

/* By default. */
#define VERDICT_ALPHA 0.05
#define VERDICT_EQUAL_WITHIN 0.05

#define VERDICT_NEVER 100000U

/*
 * What the deviation of simulated repeats counts for, as degrees of freedom. It is within a quarter
 * of that of 40 repeats (docs/explanation/verdict.md), which would be eight. Four, so that few
 * verdicts are wrong even where it is half of the truth (benchmarks/README.md).
 */
#define VERDICT_NOISE_DF 4

/* Judges each pair; `ret_findings` has room for all of them. */
void verdict_judge(const struct verdict_design *design, const struct verdict_runs *runs,
		   struct verdict_finding *ret_findings);

/*
 * The cell whose next repeat is to be run: the cells of pairs once each, then the cell whose run is
 * the largest part of a decision. A run is one part of as many as its pair is expected to need; where
 * only the other cell's run of that repeat makes it a difference, it is half of that. Equal ones go
 * by the number of their repeats, then in the order of cells. A pair that the design's repeats
 * would hardly decide (VERDICT_NOISY) asks for nothing, and neither does a control, nor one of which
 * the model does not hold. Returns false where none is wanted.
 */
bool verdict_choose(const struct verdict_design *design, const struct verdict_runs *runs,
		    const struct verdict_finding *findings, uint32_t *ret_cell);

/*
 * The runs that are expected to decide the open and noisy pairs but controls, beyond the design's repeats where
 * that takes more; pairs that need VERDICT_NEVER are left out and counted in *ret_never.
 */
uint64_t verdict_rest(const struct verdict_design *design, const struct verdict_runs *runs,
		      const struct verdict_finding *findings, uint32_t *ret_never);
