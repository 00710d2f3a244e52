/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/report/stats.h"

/*
 * Finds the least size of an error at which the winner of a pair changes. The difference of the
 * pair is a function of the size, known with a confidence interval, and need not be monotone: a
 * grid of sizes is gone through upward to the first one at which the sign is another, and the
 * interval before it is halved. A change that turns back between two sizes of the grid is not seen.
 */
struct flip_search {
	const double *sizes; /* the grid: sizes_count of them, > 0, ascending */
	uint32_t sizes_count;
	/*
	 * An interval is halved until it is no longer than this part of its upper end, and at most
	 * FLIP_HALVINGS times.
	 */
	double tolerance;
	/*
	 * The difference at a size, 0 too. It is called again for sizes that it was called for.
	 * Returns false with `error`, which ends the search.
	 */
	bool (*difference)(void *data, double size, struct stats_interval *ret_difference,
			   GError **error);
	void *data;
};

enum { FLIP_HALVINGS = 6 };

/* What was found; INFINITY: nothing up to the last size of the grid. */
struct flip {
	enum stats_sign winner; /* sign of the difference at size 0; unclear: nothing is searched */
	double size;            /* the winner is another one from here on */
	/*
	 * The interval of sizes in which the change lies, by inversion of the test at each size: at
	 * sizes up to `low` the winner is clear, and from `high` on the other one is.
	 */
	double low, high;
};

/* Searches and fills *ret_flip. False with the `error` of difference(). */
bool flip_find(const struct flip_search *search, struct flip *ret_flip, GError **error);

/* At how many sizes within one interval of the grid, from `lower` to `upper`, flip_find() looks. */
uint32_t flip_halvings(const struct flip_search *search, double lower, double upper);
