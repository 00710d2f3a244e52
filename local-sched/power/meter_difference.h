/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "local-sched/power/power_meter.h"

/*
 * The common part of meters that read a counter (of energy, of CPU time) instead of watts. Its rise
 * between two samples is the mean power of the time between them. The first reading, and a reading
 * whose predecessor is not usable, takes two samples METER_DIFFERENCE_FIRST_MS after one another.
 */
enum { METER_DIFFERENCE_FIRST_MS = 200 };

struct meter_difference;

/*
 * Takes a sample. Returns true with *ret_mw, the mean milliwatts since the previous sample, or -1
 * where there is no sample to compare with. False with `error` (POWER_METER_ERROR). Called on the
 * main loop; has to return at once.
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
