/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/report/summary.h"

/*
 * A side of a comparison: the runs of a directory, measured or simulated, with the noise of its
 * single runs and the words for it. Where one side is measured and the other simulated, the sides
 * are called so, and the measured one is the first. Otherwise they are called after their
 * directories.
 */

/* A measure; policies are ranked by one of the first two; zero: utility. */
enum compare_measure { COMPARE_BY_UTILITY = 0, COMPARE_BY_STRETCH, COMPARE_ENERGY_J };

/*
 * Estimates the deviation of a run's measure from one repeat to the next by simulated repeats
 * (resampling.h). Called for cells with a single run; fills *ret_sd and the number of repeats
 * behind it. Returns false where it has no estimate.
 */
struct compare_resampling {
	bool (*sd)(struct compare_resampling *noise, enum compare_measure measure,
		   const char *policy, double limit, double *ret_sd, uint32_t *ret_repeats);
};

struct compare_side {
	const struct summary *summary;    /* borrowed */
	struct compare_resampling *noise; /* of its single runs, borrowed; NULL: unknown */
	const char *key;                  /* in JSON: "measured", "simulated", "a" or "b" */
	char *label;                      /* "measured", "simulated", or of its directory */
	const char *column;               /* in headings of columns: "meas", "sim", or the label */
	const char *words; /* in sentences: "the measurement", "the simulation", or the label */
};

/* Both sides. */
struct compare_sides {
	struct compare_side side[2]; /* the measured one first, where the other is simulated */
	bool mixed;                  /* one is measured, and the other simulated */
};
typedef struct compare_sides compare_sides_t; /* for g_auto() */

/*
 * The sides of two summaries in any order, each with its noise, which may be NULL; all are
 * borrowed. Two sides of one kind are labelled with the last parts of their directories that tell
 * them apart, or with "A" and "B" where these are long or equal. The caller clears `ret_sides`.
 */
void compare_sides_init(struct compare_sides *ret_sides, const struct summary *a,
			struct compare_resampling *noise_a, const struct summary *b,
			struct compare_resampling *noise_b);

void compare_sides_clear(struct compare_sides *sides);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(compare_sides_t, compare_sides_clear)
