/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A utility function: the value of a task as a function of the time between its arrival and its
 * completion (Machovec 2018, section 2.3). It is a maximum (the task's priority) and a list of
 * segments, each of which runs from a start fraction to an end fraction of the maximum along a
 * curve; a segment may start lower than the segment before it ended (a jump). After the last
 * segment the value is 0. Utility functions never increase; utility_check() verifies that.
 *
 * A segment includes its last instant: at a jump the higher value counts, and a step has its value
 * at exactly its width. Whether a time is that instant is decided by keys (rank_key.h), since
 * completion times are sums.
 */

/* Most segments that a function can have; the paper's classes use up to four. */
#define UTILITY_SEGMENTS_MAX 5

/* The course of a segment. */
enum utility_curve {
	UTILITY_CONSTANT = 0, /* start_fraction throughout; end_fraction is equal to it */
	UTILITY_LINEAR,       /* straight from start_fraction to end_fraction */
	UTILITY_EXPONENTIAL,  /* decays from start_fraction towards end_fraction at `rate_per_s` */
};

/* One segment. Fractions are of the maximum, in [0, 1]. */
struct utility_segment {
	enum utility_curve curve;
	double duration_s; /* > 0 */
	double start_fraction;
	double end_fraction; /* <= start_fraction; an exponential only approaches it */
	double rate_per_s;   /* > 0 for an exponential (urgency x modifier / 60 s), else 0 */
};

/* A whole function. */
struct utility {
	double max; /* value at start_fraction 1, > 0 */
	uint32_t segments_count;
	struct utility_segment segments[UTILITY_SEGMENTS_MAX];
};

/* What utility_check() found. */
enum utility_fault {
	UTILITY_FAULT_NONE = 0,
	UTILITY_FAULT_MAX,       /* max is not a finite number above 0 */
	UTILITY_FAULT_COUNT,     /* no segment or too many */
	UTILITY_FAULT_CURVE,     /* curve unknown, or a rate that does not belong to it */
	UTILITY_FAULT_DURATION,  /* a duration that is not a finite number above 0 */
	UTILITY_FAULT_FRACTION,  /* a fraction outside [0, 1] */
	UTILITY_FAULT_INCREASES, /* a value above one before it */
};

/*
 * Verifies that `utility` is well formed and never increases. Returns UTILITY_FAULT_NONE, or the
 * first fault; *ret_segment (may be NULL) is then the index of the segment at fault (0 for a fault
 * of the whole function).
 */
enum utility_fault utility_check(const struct utility *utility, uint32_t *ret_segment);

/* A sentence for a fault ("the value increases"); never NULL. */
const char *utility_fault_text(enum utility_fault fault);

/*
 * The value of the function for a completion at `end_s` of a task that arrived at `arrival_s`.
 * Times before the arrival count as the arrival; after the end of the last segment the value is 0.
 */
double utility_at(const struct utility *utility, double arrival_s, double end_s);

/* The same `age_s` seconds after arrival. */
static inline double utility_value(const struct utility *utility, double age_s)
{
	return utility_at(utility, 0, age_s);
}

/* The segment that holds at `end_s`; segments_count: it is after the last one. */
uint32_t utility_segment_at(const struct utility *utility, double arrival_s, double end_s);

/* Seconds after arrival after which the value is 0: the sum of the durations. */
double utility_end_s(const struct utility *utility);

/*
 * The function of the testbed (Machovec 2018, section 6.2): `max` until `constant_until_s`, then
 * linear to 0 at `zero_at_s`; equal times make it a step. Needs 0 < constant_until_s <= zero_at_s.
 */
struct utility utility_testbed(double max, double constant_until_s, double zero_at_s);

/* The names of curves ("constant", "linear", "exponential"), by value; NULL-terminated. */
extern const char *const utility_curve_names[];
