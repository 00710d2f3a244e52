/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * The common part of meters that have no watts to read but a counter (of energy, of CPU time),
 * whose rise between two samples gives the mean power of the time between. The first reading, and
 * one whose predecessor is of no use any more, takes two samples METER_DIFFERENCE_FIRST_MS apart.
 */
enum { METER_DIFFERENCE_FIRST_MS = 200 };

struct meter_difference;

/*
 * Takes a sample. Returns true with the mean milliwatts since the one before in `ret_mw`, or -1
 * where there is none to compare with; false with `error` (POWER_METER_ERROR). Sources are read on
 * the main loop and must answer at once.
 */
typedef bool (*meter_difference_sample_f)(struct meter_difference *meter, int64_t *ret_mw,
					  GError **error);

/* The first member of the driver's own struct. */
struct meter_difference {
	struct power_meter base;
	meter_difference_sample_f sample;
	const char *host;
	guint timer_id; /* 0: no read is under way */
	power_meter_done_f done;
	void *data;
};

/* Starts a read: the `read` operation of such a meter. */
void meter_difference_read(struct power_meter *meter, power_meter_done_f done, void *data);

/* Drops a read that is under way. */
void meter_difference_stop(struct meter_difference *meter);
