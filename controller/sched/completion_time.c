/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/completion_time.h"

#include <math.h>
#include <string.h>

/*
 * The clones differ only in the width of their vectors: none contracts products and sums, so
 * results are the same on all computers. The clone is selected before ThreadSanitizer is
 * initialised.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("default", "avx2"), optimize("O3")))
#else
#define CLONES
#endif

const char *completion_time_scenario_name(enum completion_time_scenario scenario)
{
	static const char *const names[] = {
		[COMPLETION_NO_DROP] = "no-drop",
		[COMPLETION_DROP_PENDING] = "drop-pending",
		[COMPLETION_DROP_ANY] = "drop-any",
		[COMPLETION_DROP_ANY_PRINTED] = "drop-any-printed",
	};

	return (size_t)scenario < sizeof(names) / sizeof(names[0]) ? names[scenario] : NULL;
}

/*
 * Adds start[i] x exec[j] to out[i + j] for all i + j below `limit`. Four starts are processed
 * together, for which `padded` has zeros on either side: `padded + PET_PADDING` has exec_count
 * masses.
 */
CLONES static void convolve(double *restrict out, uint32_t limit, const double *restrict start,
			    uint32_t starts_count, const double *restrict padded,
			    uint32_t exec_count)
{
	uint32_t i = 0;

	for (; i + 4 <= starts_count && i < limit; i += 4) {
		const double a = start[i], b = start[i + 1], c = start[i + 2], d = start[i + 3];
		const uint32_t end = exec_count + 3 < limit - i ? exec_count + 3 : limit - i;
		double *restrict to = out + i;

		if (a == 0 && b == 0 && c == 0 && d == 0)
			continue;
		for (uint32_t j = 0; j < end; j++)
			to[j] += (a * padded[j + 3] + b * padded[j + 2]) +
				 (c * padded[j + 1] + d * padded[j]);
	}
	for (; i < starts_count && i < limit; i++) {
		const uint32_t end = exec_count < limit - i ? exec_count : limit - i;

		for (uint32_t j = 0; j < end; j++)
			out[i + j] += start[i] * padded[PET_PADDING + j];
	}
}

/* The sum of the products, in eight partial sums whose order is the same everywhere. */
CLONES static double dot_product(const double *restrict left, const double *restrict right,
				 uint32_t count)
{
	double sums[8] = {0};
	double sum = 0;
	uint32_t i = 0;

	for (; i + 8 <= count; i += 8)
		for (uint32_t lane = 0; lane < 8; lane++)
			sums[lane] += left[i + lane] * right[i + lane];
	for (uint32_t lane = 0; lane < 8; lane++)
		sum += sums[lane];
	for (; i < count; i++)
		sum += left[i] * right[i];
	return sum;
}

static double sum_of(const double *values, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += values[i];
	return sum;
}

/* How many bins of a PMF are before `end`. */
static uint32_t bins_before(const struct pmf *pmf, int64_t end)
{
	if (end <= pmf->first)
		return 0;
	return end - pmf->first < pmf->count ? (uint32_t)(end - pmf->first) : pmf->count;
}

/*
 * The sum over the bins s of `before` with from <= s of mass(s) x table[s - from], as far as the
 * table goes.
 */
static double weighted_sum(const struct pmf *before, int64_t from, const double *table,
			   uint32_t count)
{
	const uint32_t begin = bins_before(before, from);
	const uint32_t end = bins_before(before, from + count);

	if (begin == end)
		return 0;
	return dot_product(before->mass + begin, table + (before->first + begin - from),
			   end - begin);
}

double completion_time_chance(const struct pmf *before, const struct pet_entry *exec,
			      int64_t deadline)
{
	/* Starts up to this one leave time for the longest execution. */
	const int64_t sure = deadline - (exec->pmf.first + exec->pmf.count - 1);
	const double chance = sum_of(before->mass, bins_before(before, sure)) +
			      weighted_sum(before, sure, exec->until_back, exec->pmf.count);

	return fmin(1, chance);
}

double completion_time_chance_printed(const struct pmf *pct, int64_t deadline)
{
	return pmf_until(pct, deadline);
}

/* The mass of the task at or after the deadline: started before it, and not finished before it. */
static double late_mass(const struct pmf *before, const struct pet_entry *exec, int64_t deadline)
{
	const int64_t sure = deadline - (exec->pmf.first + exec->pmf.count - 1);
	const uint32_t hopeless = bins_before(before, sure + exec->pmf.count);

	return weighted_sum(before, sure, exec->from_back, exec->pmf.count) +
	       sum_of(before->mass + hopeless, bins_before(before, deadline) - hopeless);
}

/*
 * Moves the task's mass at or after the deadline to the deadline (eq. 5); `out` has only its mass.
 */
static void evict_printed(double *out, int64_t first, uint32_t count, int64_t deadline)
{
	for (uint32_t i = 0; i < count; i++)
		if (first + i > deadline)
			out[deadline - first] += out[i];
}

/* Eq. (5) as printed also gathers the mass of the task before that is after the deadline. */
static void gather_printed(double *out, int64_t first, const struct pmf *before, int64_t deadline)
{
	for (uint32_t i = bins_before(before, deadline); i < before->count; i++)
		out[deadline - first] += before->mass[i];
}

enum pmf_fault completion_time_next(struct pmf *ret_pct, const struct pmf *before,
				    const struct pet_entry *exec, int64_t deadline,
				    enum completion_time_scenario scenario)
{
	const struct pmf *pmf = &exec->pmf;
	const bool drops = scenario != COMPLETION_NO_DROP;
	const uint32_t starts = drops ? bins_before(before, deadline) : before->count;
	const int64_t before_last = before->first + before->count - 1;
	const int64_t own_first = before->first + pmf->first;
	const int64_t own_last = before->first + starts + pmf->first + pmf->count - 2;
	int64_t first = own_first, last = own_last;
	enum pmf_fault fault;
	double *out;

	if (starts == 0)
		return pmf_shift(ret_pct, before, 0);
	if (scenario == COMPLETION_DROP_ANY && last > deadline)
		last = deadline;
	if (scenario == COMPLETION_DROP_ANY_PRINTED && last < deadline)
		last = deadline;
	if (drops && first > deadline)
		first = deadline;
	if (starts < before->count && last < before_last)
		last = before_last;
	ret_pct->count = 0;
	fault = pmf_reserve(ret_pct, (uint64_t)(last - first) + 1);
	if (fault != PMF_OK)
		return fault;
	ret_pct->first = first;
	ret_pct->count = (uint32_t)(last - first) + 1;
	out = ret_pct->mass;
	memset(out, 0, ret_pct->count * sizeof(*out));
	if (own_first <= last) {
		const int64_t end = scenario == COMPLETION_DROP_ANY && deadline <= own_last
					    ? deadline
					    : last + 1;

		if (own_first < end)
			convolve(out + (own_first - first), (uint32_t)(end - own_first),
				 before->mass, starts, exec->padded, pmf->count);
	}
	if (scenario == COMPLETION_DROP_ANY && deadline <= own_last)
		out[deadline - first] += late_mass(before, exec, deadline);
	if (scenario == COMPLETION_DROP_ANY_PRINTED) {
		evict_printed(out, first, ret_pct->count, deadline);
		gather_printed(out, first, before, deadline);
	}
	for (uint32_t i = starts; i < before->count; i++)
		out[before->first + i - first] += before->mass[i];
	pmf_trim(ret_pct);
	return PMF_OK;
}

enum pmf_fault completion_time_executing(struct pmf *ret_pct, const struct pet_entry *exec,
					 int64_t start, int64_t now, int64_t deadline,
					 enum completion_time_scenario scenario, double *ret_chance)
{
	const bool evicts =
		scenario == COMPLETION_DROP_ANY || scenario == COMPLETION_DROP_ANY_PRINTED;
	enum pmf_fault fault = pmf_after(ret_pct, &exec->pmf, now - start);
	uint32_t before;

	if (fault == PMF_OK)
		fault = pmf_shift(ret_pct, ret_pct, start);
	if (fault != PMF_OK) {
		ret_pct->count = 0;
		return fault;
	}
	*ret_chance = pmf_until(ret_pct, deadline);
	before = bins_before(ret_pct, deadline);
	if (evicts && deadline > now && before < ret_pct->count) {
		ret_pct->mass[before] = sum_of(ret_pct->mass + before, ret_pct->count - before);
		ret_pct->count = before + 1;
		if (before == 0)
			ret_pct->first = deadline;
	}
	return PMF_OK;
}

double completion_time_merge_error(enum completion_time_scenario scenario, double error,
				   double moved)
{
	return (scenario == COMPLETION_DROP_PENDING ? 3 * error : error) + moved;
}
