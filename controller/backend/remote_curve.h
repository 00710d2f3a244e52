/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/remote_meter.h"

/*
 * The sum of the counters of a set of meters over time, at evenly spaced moments, for drawing a
 * curve of energy. Moments that the samples of all meters cover are computed once and kept; later
 * ones are computed at each read.
 */
struct remote_curve;

/* The maximum number of points; at least half as many once the meters have reported for a while. */
#define REMOTE_CURVE_POINTS 200

struct remote_curve_point {
	int64_t t_ns;
	double sum_uj;
};

struct remote_curve *remote_curve_new(void);
/* NULL is allowed. */
void remote_curve_free(struct remote_curve *curve);

/*
 * The points after `from_ns` (not before any meter's first sample) up to `now_ns`, the last one at
 * `now_ns`: an array of struct remote_curve_point by time, borrowed until the next call. Every
 * meter must have a sample. Empty if from_ns is not before now_ns.
 */
const GArray *remote_curve_read(struct remote_curve *curve, GPtrArray *meters, int64_t from_ns,
				int64_t now_ns);
