/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "controller/sched/pmf.h"

/*
 * Probabilistic execution times (Gentry 2019, section III): a PMF of the execution time of every
 * task type on every machine (cluster), with tables by which a chance is computed in one pass over
 * the starts.
 *
 * Life cycle: pet_new(), pet_set() for every pair, then read-only; it may be shared between
 * threads.
 */

/* Zeros on either side of pet_entry.padded. */
#define PET_PADDING 3

/* The execution time of a type on a machine, bins. Read-only. */
struct pet_entry {
	struct pmf pmf;           /* its first bin is 1 or later; empty: not set */
	double mean;              /* its expectation */
	const double *padded;     /* its masses with PET_PADDING zeros before and behind them */
	const double *until_back; /* [j]: P(X <= last - j), j < count, where last is its last bin */
	const double *from_back;  /* [j]: P(X >= last - j) */
};

/* The matrix: types x machines, row = type. */
struct pet {
	uint32_t types_count;
	uint32_t machines_count;
	struct pet_entry *entries;
};

/* Returns a matrix without PMFs, or NULL if memory is short. */
struct pet *pet_new(uint32_t types_count, uint32_t machines_count);

/*
 * Sets the execution time of a type on a machine; the PMF is copied. Returns PMF_OK, PMF_TIME if it
 * has mass before bin 1, another fault of pmf_check(), or PMF_MEMORY.
 */
enum pmf_fault pet_set(struct pet *pet, uint32_t type, uint32_t machine, const struct pmf *pmf);

/* PMF_OK if all pairs are set, else PMF_EMPTY with the first pair that is not. */
enum pmf_fault pet_check(const struct pet *pet, uint32_t *ret_type, uint32_t *ret_machine);

/* NULL is allowed. */
void pet_free(struct pet *pet);

/* The execution time of a type on a machine. */
static inline const struct pet_entry *pet_at(const struct pet *pet, uint32_t type, uint32_t machine)
{
	return pet->entries + (size_t)type * pet->machines_count + machine;
}

/* The mean over all machines of the mean execution time of a type, bins (VI.B: avg_i). */
double pet_type_mean(const struct pet *pet, uint32_t type);
