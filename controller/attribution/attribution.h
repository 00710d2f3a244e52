/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/attribution/cause.h"
#include "controller/attribution/replica.h"
#include "controller/report/compare.h"
#include "controller/report/stats.h"

/*
 * Divides the difference between a measured and a simulated directory over its causes
 * (docs/explanation/attribution.md): for each policy at each limit, the Shapley values of the
 * causes by simulations in which each is switched to what was measured.
 */

/* What is divided: the measures of runs, and the rank of a policy at its limit, 1 for the best. */
enum { ATTRIBUTION_RANK = MEASURES, ATTRIBUTION_MEASURES };
const char *attribution_measure_key(int measure);
const char *attribution_measure_title(int measure);

/*
 * A difference and its parts: gap = measured - simulated = again + the sum of the parts + remains.
 * Intervals are of 95 %; NAN: there is none.
 */
struct attribution_split {
	bool known; /* both sides have the measure */
	double measured, simulated;
	struct stats_interval gap;
	double again; /* what this build simulates without causes, less what is stored */
	struct stats_interval parts[CAUSES];
	/*
	 * What parts come to by the noise of measuring alone, when nothing differs but by chance;
	 * of ranks not known.
	 */
	struct stats_interval noise[CAUSES];
	double errors[CAUSES]; /* standard errors of the draw of orders; 0: it is exact */
	struct stats_interval remains;
	double alone[CAUSES]; /* the measure with this cause alone switched on */
};

/* A policy at a limit. */
struct attribution_cell {
	const char *policy; /* borrowed from the comparison */
	double limit;
	uint32_t runs; /* measured */
	struct attribution_split splits[ATTRIBUTION_MEASURES];
	char *because[CAUSES]; /* "tasks took 1.12 times their estimates"; NULL: no such cause */
};

/* A pair of the comparison: the difference of the measure by which policies are ranked. */
struct attribution_pair {
	const struct compare_pair *pair; /* borrowed */
	double gap;                      /* measured difference less simulated one */
	struct stats_interval parts[CAUSES], noise[CAUSES];
	double remains; /* with what is simulated again */
	/* The order of the pair if the simulation had this cause alone as it was measured. */
	enum compare_order alone[CAUSES];
	int first; /* cause; -1: none stands out */
};

struct attribution {
	const struct compare *compare; /* borrowed */
	int measure;                   /* by which policies are ranked */
	cause_set causes;              /* those with parts */
	bool has_moments;              /* the store has the moments of decisions */
	uint32_t simulations;          /* in all */
	uint32_t orders;               /* that were drawn; 0: exact */
	uint32_t repeats; /* simulated repeats for intervals of single runs, and of noise alone */
	GArray *cells;    /* struct attribution_cell, by limit, then policy */
	GArray *pairs;    /* struct attribution_pair */
	GPtrArray *left_out; /* char *: policies that this build does not know */
};
typedef struct attribution attribution_t;

struct attribution_options {
	uint32_t jobs; /* threads, > 0; results do not depend on it */
	uint32_t most; /* simulations for the parts; beyond, orders are drawn; 0: 10,000 */
	/* As in batch.h; may be NULL. */
	bool (*progress)(uint32_t done, uint32_t count, void *data);
	void *data;
};

#define ATTRIBUTION_ERROR (attribution_error_quark())
GQuark attribution_error_quark(void);
/* Codes of ATTRIBUTION_ERROR; bad input. */
enum attribution_error {
	ATTRIBUTION_ERROR_SIDES = 1, /* not a measured and a simulated directory */
	ATTRIBUTION_ERROR_SYSTEM,    /* the directories have other clusters or types */
	ATTRIBUTION_ERROR_POLICIES,  /* this build knows none of the policies */
	ATTRIBUTION_ERROR_CELLS,     /* no policy at a limit ended on both sides */
	ATTRIBUTION_ERROR_USERS,     /* a directory has users who react */
};

/*
 * Attributes the differences of `compare`, borrowed for the life of the result. NULL with `error`
 * (ATTRIBUTION_ERROR, OBSERVED_ERROR, CONFIG_ERROR, those of experiments and of the store,
 * G_IO_ERROR_CANCELLED).
 */
struct attribution *attribution_new(const struct compare *compare,
				    const struct attribution_options *options, GError **error);
/* NULL is allowed. */
void attribution_free(struct attribution *attribution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(attribution_t, attribution_free)

/*
 * The cause with the largest part in the direction of the difference, of those whose interval
 * leaves out 0 and whose part is beyond what noise alone comes to; -1: none.
 */
int attribution_first(double gap, const struct stats_interval parts[CAUSES],
		      const struct stats_interval noise[CAUSES]);
