/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/pmf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *pmf_fault_text(enum pmf_fault fault)
{
	switch (fault) {
	case PMF_OK:
		return "nothing is wrong";
	case PMF_MEMORY:
		return "out of memory";
	case PMF_EMPTY:
		return "there are no samples or masses";
	case PMF_NEGATIVE:
		return "a mass is negative";
	case PMF_NOT_FINITE:
		return "a mass or a sample is not a finite number";
	case PMF_MASS:
		return "the masses do not sum to 1";
	case PMF_TIME:
		return "a time is not above 0, or too large";
	case PMF_LENGTH:
		return "there are more than 4194304 bins";
	}
	return "an unknown fault";
}

void pmf_finish(struct pmf *pmf)
{
	free(pmf->mass);
	*pmf = (struct pmf){0};
}

enum pmf_fault pmf_reserve(struct pmf *pmf, uint64_t count)
{
	uint64_t capacity = pmf->capacity ? pmf->capacity : 64;
	double *mass;

	if (count > PMF_BINS_MAX)
		return PMF_LENGTH;
	if (count <= pmf->capacity)
		return PMF_OK;
	while (capacity < count)
		capacity *= 2;
	mass = realloc(pmf->mass, capacity * sizeof(*mass));
	if (!mass)
		return PMF_MEMORY;
	pmf->mass = mass;
	pmf->capacity = (uint32_t)capacity;
	return PMF_OK;
}

void pmf_trim(struct pmf *pmf)
{
	uint32_t from = 0;

	while (from + 1 < pmf->count && pmf->mass[from] == 0)
		from++;
	while (pmf->count > from + 1 && pmf->mass[pmf->count - 1] == 0)
		pmf->count--;
	if (from > 0) {
		pmf->count -= from;
		pmf->first += from;
		memmove(pmf->mass, pmf->mass + from, pmf->count * sizeof(*pmf->mass));
	}
}

static bool time_fits(int64_t bin)
{
	return bin >= -PMF_TIME_MAX && bin <= PMF_TIME_MAX;
}

/* Divides all masses by their sum, unless that is 1. */
static void scale(struct pmf *pmf)
{
	const double sum = pmf_mass(pmf);

	if (sum == 1)
		return;
	for (uint32_t i = 0; i < pmf->count; i++)
		pmf->mass[i] /= sum;
}

static enum pmf_fault check_masses(const double *masses, uint32_t count, double slack,
				   uint32_t *ret_index)
{
	double sum = 0;

	if (ret_index)
		*ret_index = 0;
	if (count == 0)
		return PMF_EMPTY;
	for (uint32_t i = 0; i < count; i++) {
		if (ret_index)
			*ret_index = i;
		if (!isfinite(masses[i]))
			return PMF_NOT_FINITE;
		if (masses[i] < 0)
			return PMF_NEGATIVE;
		sum += masses[i];
	}
	return fabs(sum - 1) <= slack ? PMF_OK : PMF_MASS;
}

enum pmf_fault pmf_from_masses(struct pmf *ret_pmf, int64_t first, const double *masses,
			       uint32_t count, double slack, uint32_t *ret_index)
{
	enum pmf_fault fault = check_masses(masses, count, slack, ret_index);

	if (fault == PMF_OK && (!time_fits(first) || !time_fits(first + count)))
		fault = PMF_TIME;
	if (fault == PMF_OK)
		fault = pmf_reserve(ret_pmf, count);
	if (fault != PMF_OK)
		return fault;
	ret_pmf->first = first;
	ret_pmf->count = count;
	memcpy(ret_pmf->mass, masses, count * sizeof(*masses));
	pmf_trim(ret_pmf);
	scale(ret_pmf);
	return PMF_OK;
}

/* The bin of a sample: the nearest, 1 at least. */
static double sample_bin(double sample, double bin)
{
	return fmax(1, floor(sample / bin + 0.5));
}

/* The span of the bins of all samples. */
static enum pmf_fault span(const double *samples, uint32_t count, double bin, double *ret_first,
			   double *ret_last, uint32_t *ret_index)
{
	*ret_first = INFINITY;
	*ret_last = 0;
	if (ret_index)
		*ret_index = 0;
	if (count == 0)
		return PMF_EMPTY;
	for (uint32_t i = 0; i < count; i++) {
		if (ret_index)
			*ret_index = i;
		if (!isfinite(samples[i]))
			return PMF_NOT_FINITE;
		if (samples[i] <= 0 || samples[i] / bin > (double)PMF_TIME_MAX)
			return PMF_TIME;
		*ret_first = fmin(*ret_first, sample_bin(samples[i], bin));
		*ret_last = fmax(*ret_last, sample_bin(samples[i], bin));
	}
	return PMF_OK;
}

enum pmf_fault pmf_from_samples(struct pmf *ret_pmf, const double *samples, uint32_t count,
				double bin, uint32_t *ret_index)
{
	double first, last;
	enum pmf_fault fault = span(samples, count, bin, &first, &last, ret_index);

	if (fault == PMF_OK)
		fault = pmf_reserve(ret_pmf, (uint64_t)(last - first) + 1);
	if (fault != PMF_OK)
		return fault;
	ret_pmf->first = (int64_t)first;
	ret_pmf->count = (uint32_t)(last - first) + 1;
	memset(ret_pmf->mass, 0, ret_pmf->count * sizeof(*ret_pmf->mass));
	/* Count first and divide once: the masses then sum to 1 as closely as possible. */
	for (uint32_t i = 0; i < count; i++)
		ret_pmf->mass[(uint32_t)(sample_bin(samples[i], bin) - first)] += 1;
	for (uint32_t i = 0; i < ret_pmf->count; i++)
		ret_pmf->mass[i] /= count;
	return PMF_OK;
}

enum pmf_fault pmf_point(struct pmf *ret_pmf, int64_t bin)
{
	const enum pmf_fault fault = time_fits(bin) ? pmf_reserve(ret_pmf, 1) : PMF_TIME;

	if (fault != PMF_OK)
		return fault;
	ret_pmf->first = bin;
	ret_pmf->count = 1;
	ret_pmf->mass[0] = 1;
	return PMF_OK;
}

enum pmf_fault pmf_shift(struct pmf *ret_pmf, const struct pmf *pmf, int64_t shift)
{
	enum pmf_fault fault = PMF_OK;

	if (!time_fits(shift) || !time_fits(pmf->first + shift))
		return PMF_TIME;
	if (ret_pmf != pmf) {
		fault = pmf_reserve(ret_pmf, pmf->count);
		if (fault != PMF_OK)
			return fault;
		memcpy(ret_pmf->mass, pmf->mass, pmf->count * sizeof(*pmf->mass));
		ret_pmf->count = pmf->count;
	}
	ret_pmf->first = pmf->first + shift;
	return PMF_OK;
}

enum pmf_fault pmf_after(struct pmf *ret_pmf, const struct pmf *pmf, int64_t now)
{
	uint32_t from;
	enum pmf_fault fault;

	if (now < pmf->first)
		return pmf_shift(ret_pmf, pmf, 0);
	if (now >= pmf->first + pmf->count - 1)
		return pmf_point(ret_pmf, now + 1);
	from = (uint32_t)(now + 1 - pmf->first);
	fault = pmf_reserve(ret_pmf, pmf->count - from);
	if (fault != PMF_OK)
		return fault;
	memmove(ret_pmf->mass, pmf->mass + from, (pmf->count - from) * sizeof(*pmf->mass));
	ret_pmf->count = pmf->count - from;
	ret_pmf->first = now + 1;
	pmf_trim(ret_pmf);
	scale(ret_pmf);
	return PMF_OK;
}

static uint32_t impulses(const struct pmf *pmf)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pmf->count; i++)
		count += pmf->mass[i] > 0;
	return count;
}

/*
 * A run ends where the mass so far reaches the next multiple of 1 / most. So there are at most
 * `most` runs; rounding could split off one more, so that the last run takes the rest.
 */
static void merge_runs(struct pmf *pmf, uint32_t most, uint32_t *ret_late, double *ret_moved)
{
	double sum = 0, run = 0;
	uint32_t ended = 0, began = 0;
	bool open = false;

	*ret_late = 0;
	*ret_moved = 0;
	for (uint32_t i = 0; i < pmf->count; i++) {
		const double mass = pmf->mass[i];

		if (mass == 0)
			continue;
		if (!open)
			began = i;
		open = true;
		sum += mass;
		pmf->mass[i] = 0;
		if (i + 1 < pmf->count && (ended + 1 == most || sum * most < ended + 1)) {
			run += mass;
			continue;
		}
		*ret_late = i - began > *ret_late ? i - began : *ret_late;
		*ret_moved = fmax(*ret_moved, run);
		pmf->mass[i] = run + mass;
		run = 0;
		open = false;
		while (ended + 1 < most && sum * most >= ended + 1)
			ended++;
	}
}

enum pmf_fault pmf_merge(struct pmf *ret_pmf, const struct pmf *pmf, uint32_t most,
			 uint32_t *ret_late, double *ret_moved)
{
	const enum pmf_fault fault = pmf_shift(ret_pmf, pmf, 0);

	if (fault != PMF_OK)
		return fault;
	*ret_late = 0;
	*ret_moved = 0;
	if (impulses(ret_pmf) > most) {
		merge_runs(ret_pmf, most, ret_late, ret_moved);
		pmf_trim(ret_pmf);
	}
	return PMF_OK;
}

enum pmf_fault pmf_check(const struct pmf *pmf)
{
	if (pmf->count > PMF_BINS_MAX)
		return PMF_LENGTH;
	if (!time_fits(pmf->first))
		return PMF_TIME;
	return check_masses(pmf->mass, pmf->count, PMF_MASS_ERROR, NULL);
}

bool pmf_equal(const struct pmf *pmf, const struct pmf *other)
{
	return pmf->first == other->first && pmf->count == other->count &&
	       memcmp(pmf->mass, other->mass, pmf->count * sizeof(*pmf->mass)) == 0;
}

double pmf_mass(const struct pmf *pmf)
{
	double sum = 0;

	for (uint32_t i = 0; i < pmf->count; i++)
		sum += pmf->mass[i];
	return sum;
}

double pmf_until(const struct pmf *pmf, int64_t bin)
{
	double sum = 0;

	for (uint32_t i = 0; i < pmf->count && pmf->first + i <= bin; i++)
		sum += pmf->mass[i];
	return fmin(sum, 1);
}

double pmf_mean(const struct pmf *pmf)
{
	double sum = 0;

	for (uint32_t i = 0; i < pmf->count; i++)
		sum += i * pmf->mass[i];
	return (double)pmf->first + sum;
}

double pmf_skewness(const struct pmf *pmf)
{
	const double mean = pmf_mean(pmf) - (double)pmf->first;
	double square = 0, cube = 0;

	if (pmf->count < 2)
		return 0;
	for (uint32_t i = 0; i < pmf->count; i++) {
		const double off = i - mean;

		square += pmf->mass[i] * off * off;
		cube += pmf->mass[i] * off * off * off;
	}
	if (square == 0)
		return 0;
	return fmax(-1, fmin(1, cube / (square * sqrt(square))));
}
