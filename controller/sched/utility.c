/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/sched/utility.h"

#include <math.h>
#include <stdbool.h>

#include "controller/sched/rank_key.h"

const char *const utility_curve_names[] = {
	[UTILITY_CONSTANT] = "constant",
	[UTILITY_LINEAR] = "linear",
	[UTILITY_EXPONENTIAL] = "exponential",
	NULL,
};

static const char *const fault_texts[] = {
	[UTILITY_FAULT_NONE] = "well formed",
	[UTILITY_FAULT_MAX] = "the maximum is not a finite number above 0",
	[UTILITY_FAULT_COUNT] = "it has no segment or too many",
	[UTILITY_FAULT_CURVE] = "unknown curve, or a rate that does not belong to it",
	[UTILITY_FAULT_DURATION] = "the duration is not a finite number above 0",
	[UTILITY_FAULT_FRACTION] = "a fraction lies outside 0 to 1",
	[UTILITY_FAULT_INCREASES] = "the value increases",
};

const char *utility_fault_text(enum utility_fault fault)
{
	return (unsigned int)fault <= UTILITY_FAULT_INCREASES ? fault_texts[fault]
							      : "unknown fault";
}

static bool positive(double value)
{
	return isfinite(value) && value > 0;
}

static bool fraction(double value)
{
	return value >= 0 && value <= 1;
}

static double segment_fraction(const struct utility_segment *segment, double elapsed_s)
{
	const double drop = segment->end_fraction - segment->start_fraction;

	switch (segment->curve) {
	case UTILITY_CONSTANT:
		return segment->start_fraction;
	case UTILITY_LINEAR:
		return segment->start_fraction + drop * (elapsed_s / segment->duration_s);
	case UTILITY_EXPONENTIAL:
		return segment->end_fraction - drop * exp(-segment->rate_per_s * elapsed_s);
	}
	return 0;
}

static enum utility_fault segment_check(const struct utility_segment *segment)
{
	if ((unsigned int)segment->curve > UTILITY_EXPONENTIAL)
		return UTILITY_FAULT_CURVE;
	if (!positive(segment->duration_s))
		return UTILITY_FAULT_DURATION;
	if (!fraction(segment->start_fraction) || !fraction(segment->end_fraction))
		return UTILITY_FAULT_FRACTION;
	if (segment->curve == UTILITY_EXPONENTIAL ? !positive(segment->rate_per_s)
						  : segment->rate_per_s != 0)
		return UTILITY_FAULT_CURVE;
	if (segment->end_fraction > segment->start_fraction)
		return UTILITY_FAULT_INCREASES;
	if (segment->curve == UTILITY_CONSTANT && segment->end_fraction != segment->start_fraction)
		return UTILITY_FAULT_CURVE;
	return UTILITY_FAULT_NONE;
}

enum utility_fault utility_check(const struct utility *utility, uint32_t *ret_segment)
{
	enum utility_fault fault = UTILITY_FAULT_NONE;
	double last = 1;
	uint32_t at = 0;

	if (!positive(utility->max))
		fault = UTILITY_FAULT_MAX;
	else if (utility->segments_count == 0 || utility->segments_count > UTILITY_SEGMENTS_MAX)
		fault = UTILITY_FAULT_COUNT;
	for (uint32_t i = 0; fault == UTILITY_FAULT_NONE && i < utility->segments_count; i++) {
		const struct utility_segment *segment = &utility->segments[i];

		at = i;
		fault = segment_check(segment);
		if (fault == UTILITY_FAULT_NONE && segment->start_fraction > last)
			fault = UTILITY_FAULT_INCREASES;
		last = segment_fraction(segment, segment->duration_s);
	}
	if (ret_segment)
		*ret_segment = fault == UTILITY_FAULT_NONE ? 0 : at;
	return fault;
}

/*
 * The segment at `end_s`, or segments_count after the last one; *ret_elapsed_s is the time since
 * its beginning. The absolute times are compared, not ages: a small difference of large times has
 * their rounding errors.
 */
static uint32_t find_segment(const struct utility *utility, double arrival_s, double end_s,
			     double *ret_elapsed_s)
{
	double elapsed_s = end_s > arrival_s ? end_s - arrival_s : 0;
	double last_s = arrival_s;
	uint32_t i = 0;

	for (; i < utility->segments_count; i++) {
		last_s += utility->segments[i].duration_s;
		if (!rank_key_above(end_s, last_s))
			break;
		elapsed_s -= utility->segments[i].duration_s;
	}
	*ret_elapsed_s = elapsed_s;
	return i;
}

uint32_t utility_segment_at(const struct utility *utility, double arrival_s, double end_s)
{
	double elapsed_s;

	return find_segment(utility, arrival_s, end_s, &elapsed_s);
}

double utility_at(const struct utility *utility, double arrival_s, double end_s)
{
	double elapsed_s;
	const uint32_t at = find_segment(utility, arrival_s, end_s, &elapsed_s);

	if (at == utility->segments_count)
		return 0;
	if (elapsed_s > utility->segments[at].duration_s)
		elapsed_s = utility->segments[at].duration_s;
	return utility->max * segment_fraction(&utility->segments[at], elapsed_s);
}

double utility_end_s(const struct utility *utility)
{
	double end_s = 0;

	for (uint32_t i = 0; i < utility->segments_count; i++)
		end_s += utility->segments[i].duration_s;
	return end_s;
}

struct utility utility_testbed(double max, double constant_until_s, double zero_at_s)
{
	return (struct utility){
		.max = max,
		.segments_count = zero_at_s > constant_until_s ? 2 : 1,
		.segments =
			{
				{UTILITY_CONSTANT, constant_until_s, 1, 1, 0},
				{UTILITY_LINEAR, zero_at_s - constant_until_s, 1, 0, 0},
			},
	};
}
