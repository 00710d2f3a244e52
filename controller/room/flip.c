/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller/room/flip.h"

#include <math.h>

/* How far a pair is from its winner; each includes the one before it. */
enum stage { STAGE_UNCLEAR, STAGE_TURNED, STAGE_LOST };

static bool has_reached(enum stage stage, enum stats_sign winner,
			const struct stats_interval *difference)
{
	const enum stats_sign sign = stats_interval_sign(difference);
	const double ahead = winner == STATS_SIGN_POSITIVE ? difference->value : -difference->value;

	switch (stage) {
	case STAGE_UNCLEAR:
		return sign != winner;
	case STAGE_TURNED:
		return ahead < 0;
	case STAGE_LOST:
		return ahead < 0 && sign != STATS_SIGN_UNCLEAR;
	}
	g_assert_not_reached();
}

static bool reaches(const struct flip_search *search, enum stage stage, enum stats_sign winner,
		    double size, bool *ret_reached, GError **error)
{
	struct stats_interval difference;

	if (!search->difference(search->data, size, &difference, error))
		return false;
	*ret_reached = has_reached(stage, winner, &difference);
	return true;
}

/*
 * Halves [*lower, *upper], of which the pair has reached the stage at the upper end and not at the
 * lower one.
 */
static bool halve(const struct flip_search *search, enum stage stage, enum stats_sign winner,
		  double *lower, double *upper, GError **error)
{
	for (uint32_t left = flip_halvings(search, *lower, *upper); left > 0; left--) {
		const double middle = (*lower + *upper) / 2;
		bool reached;

		if (!reaches(search, stage, winner, middle, &reached, error))
			return false;
		*(reached ? upper : lower) = middle;
	}
	return true;
}

/* The interval in which a pair reaches a stage for the first time; INFINITY both: never. */
static bool find_stage(const struct flip_search *search, enum stage stage, enum stats_sign winner,
		       double *ret_lower, double *ret_upper, GError **error)
{
	double lower = 0;

	for (uint32_t i = 0; i < search->sizes_count; i++) {
		double upper = search->sizes[i];
		bool reached;

		if (!reaches(search, stage, winner, upper, &reached, error))
			return false;
		if (reached) {
			if (!halve(search, stage, winner, &lower, &upper, error))
				return false;
			*ret_lower = lower;
			*ret_upper = upper;
			return true;
		}
		lower = upper;
	}
	*ret_lower = *ret_upper = INFINITY;
	return true;
}

uint32_t flip_halvings(const struct flip_search *search, double lower, double upper)
{
	double length = upper - lower;
	uint32_t count = 0;

	/* The interval may end anywhere in this one: its upper end is above `lower`. */
	while (count < FLIP_HALVINGS && length > search->tolerance * (lower + length)) {
		length /= 2;
		count++;
	}
	return count;
}

bool flip_find(const struct flip_search *search, struct flip *ret_flip, GError **error)
{
	struct stats_interval difference;
	struct flip flip = {.size = INFINITY, .low = INFINITY, .high = INFINITY};
	double unused;

	if (!search->difference(search->data, 0, &difference, error))
		return false;
	flip.winner = stats_interval_sign(&difference);
	if (flip.winner != STATS_SIGN_UNCLEAR &&
	    (!find_stage(search, STAGE_UNCLEAR, flip.winner, &flip.low, &unused, error) ||
	     !find_stage(search, STAGE_TURNED, flip.winner, &unused, &flip.size, error) ||
	     !find_stage(search, STAGE_LOST, flip.winner, &unused, &flip.high, error)))
		return false;
	/* A difference that is not monotone within an interval may be halved to other places. */
	flip.low = fmin(flip.low, flip.size);
	flip.high = fmax(flip.high, flip.size);
	*ret_flip = flip;
	return true;
}
