/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Probability mass functions over integer time bins (Gentry 2019, section III): how long a task
 * takes, or when a machine is done with it. The length of a bin in seconds is up to the caller.
 *
 * The masses are not negative and sum to 1 within PMF_MASS_ERROR. Every function that takes a PMF
 * relies on this, and every function that makes a PMF ensures it. Results are as long as they need
 * to be, up to PMF_BINS_MAX: only pmf_merge() cuts or rounds.
 *
 * Life cycle: a struct pmf set to zero is empty, and any function may write to it; its memory is
 * kept and reused until pmf_finish(). A call that fails leaves its result as it was.
 */

/* Tolerance of the sum of the masses. */
#define PMF_MASS_ERROR 1e-12

/* Most bins between the first and the last mass, and the latest bin of either sign. */
#define PMF_BINS_MAX (1u << 22)
#define PMF_TIME_MAX ((int64_t)1 << 52)

/* A PMF: mass[i] is the probability of bin first + i. The first and last masses are not 0. */
struct pmf {
	int64_t first;
	uint32_t count;    /* number of bins, > 0 unless it is empty */
	uint32_t capacity; /* of `mass` */
	double *mass;
};

/* What is wrong with a PMF, or with the data for a PMF. */
enum pmf_fault {
	PMF_OK = 0,
	PMF_MEMORY,     /* out of memory */
	PMF_EMPTY,      /* no masses, or no samples */
	PMF_NEGATIVE,   /* a negative mass */
	PMF_NOT_FINITE, /* a mass or a sample that is not a number */
	PMF_MASS,       /* the masses do not sum to 1 */
	PMF_TIME,       /* a sample that is not above 0, or a bin out of range */
	PMF_LENGTH,     /* more than PMF_BINS_MAX bins */
};

/* A sentence for a fault; never NULL. */
const char *pmf_fault_text(enum pmf_fault fault);

/* Frees the memory of a PMF and makes it empty. */
void pmf_finish(struct pmf *pmf);

/*
 * Makes a PMF of `count` masses from bin `first` on, such as a histogram from a file. They are
 * scaled by their sum, which must be 1 within `slack` (1e-12 to be strict, 1e-6 for printed
 * decimals). Returns PMF_OK, or the fault with the index of the mass concerned in *ret_index (may
 * be NULL).
 */
enum pmf_fault pmf_from_masses(struct pmf *ret_pmf, int64_t first, const double *masses,
			       uint32_t count, double slack, uint32_t *ret_index);

/*
 * Makes the histogram of `count` execution times, > 0: each falls into the nearest bin, 1 at least;
 * `bin` is the length of a bin in the unit of the samples (> 0). So the mean differs from that of
 * the samples by at most half a bin. Returns as pmf_from_masses().
 */
enum pmf_fault pmf_from_samples(struct pmf *ret_pmf, const double *samples, uint32_t count,
				double bin, uint32_t *ret_index);

/* Makes a PMF with all mass in one bin. Returns PMF_OK, PMF_TIME or PMF_MEMORY. */
enum pmf_fault pmf_point(struct pmf *ret_pmf, int64_t bin);

/* Copies a PMF, `shift` bins later. Source and result may be the same. */
enum pmf_fault pmf_shift(struct pmf *ret_pmf, const struct pmf *pmf, int64_t shift);

/*
 * Makes the PMF of an event given that it has not happened by bin `now`: the masses after `now`,
 * scaled to sum to 1. If no mass is left (it took longer than ever seen), all mass is in now + 1.
 * Source and result may be the same.
 */
enum pmf_fault pmf_after(struct pmf *ret_pmf, const struct pmf *pmf, int64_t now);

/*
 * Merges neighbouring impulses until at most `most` (> 0) are left: runs of bins with about equal
 * mass become one impulse at the last bin of the run, so that time is only added. At most *ret_late
 * bins are added, and no value of the distribution function falls by more than *ret_moved, which is
 * below 1 / most (completion_time.h says how that adds up along a queue). A PMF that has no more
 * impulses is copied and both are 0. Source and result may be the same.
 */
enum pmf_fault pmf_merge(struct pmf *ret_pmf, const struct pmf *pmf, uint32_t most,
			 uint32_t *ret_late, double *ret_moved);

/* Verifies a PMF. Returns PMF_OK or the fault. */
enum pmf_fault pmf_check(const struct pmf *pmf);

/* Whether two PMFs are the same to the bit. */
bool pmf_equal(const struct pmf *pmf, const struct pmf *other);

/* The sum of the masses. */
double pmf_mass(const struct pmf *pmf);

/* The probability of bin `bin` or an earlier one. */
double pmf_until(const struct pmf *pmf, int64_t bin);

/* The expectation, bins. */
double pmf_mean(const struct pmf *pmf);

/*
 * The population skewness (eq. 6 without the factor of the sample size, which tends to 1), bounded
 * to [-1, 1] as in section V.B.1; 0 where all mass is in one bin.
 */
double pmf_skewness(const struct pmf *pmf);

/*
 * For functions that compute PMFs: allocates room for `count` bins, which are not initialised;
 * `first` and `count` are left alone. Returns PMF_OK, PMF_LENGTH or PMF_MEMORY.
 */
enum pmf_fault pmf_reserve(struct pmf *pmf, uint64_t count);

/*
 * For functions that compute PMFs: removes masses of 0 at both ends; at least one mass must be
 * above 0.
 */
void pmf_trim(struct pmf *pmf);
