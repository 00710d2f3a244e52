/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/backend/remote_meter.h"

/*
 * What the counters of a set of meters were together over time, at evenly spaced moments: what a curve of energy is
 * drawn from. A moment up to which all meters have told is looked up once and kept; those after it are looked up anew.
 */
struct remote_curve;

/* As many points at most, and no fewer than half as many once the meters have told for a while. */
#define REMOTE_CURVE_POINTS 200

struct remote_curve_point {
	int64_t t_ns;
	double sum_uj;
};

struct remote_curve *remote_curve_new(void);
/* NULL is allowed. */
void remote_curve_free(struct remote_curve *curve);

/*
 * The points after `from_ns` (not before any meter's first sample) and not after `now_ns`, the last one at `now_ns`: an
 * array of struct remote_curve_point by time, borrowed until the next call. Every meter has a sample; none where
 * from_ns is not before now_ns.
 */
const GArray *remote_curve_read(struct remote_curve *curve, GPtrArray *meters, int64_t from_ns, int64_t now_ns);
