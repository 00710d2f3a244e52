/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "local-sched/power/power_meter.h"

/*
 * RAPL: the energy counters of this machine's CPU packages, through the kernel's powercap files.
 * What they leave out (memory, disks, fans, losses) is most of an idle machine's power: these are
 * watts of the CPUs, never of the host, and whoever shows them says so.
 *
 * The counters wrap at max_energy_range_uj. One wrap between two samples is corrected; two samples
 * so far apart that there may have been two are not compared. A counter that falls without a known
 * range, one that jumps by more than a package can draw, and one that stands still (a package in
 * use never draws nothing) are no readings.
 *
 * Needs root (CVE-2020-8694: the kernel keeps the counters from others).
 */
extern const struct power_meter_ops meter_rapl_ops;

/* No package draws more, in watts: what seems to is an error. */
#define METER_RAPL_PACKAGE_MAX_W 1000.0

/* What two values of a package's counter tell. */
enum meter_rapl_verdict {
	METER_RAPL_OK = 0,
	METER_RAPL_STILL, /* it did not move */
	METER_RAPL_FELL,  /* it fell, and its range is not known or it was above it */
	METER_RAPL_JUMP,  /* it rose by more than a package can draw */
};

/*
 * The microjoules between two values, `elapsed_s` > 0 apart; a fall is one wrap of a counter that
 * goes from 0 to range_uj (0: not known). `ret_uj` is set only for METER_RAPL_OK. Pure.
 */
enum meter_rapl_verdict meter_rapl_rise(uint64_t before_uj, uint64_t now_uj, uint64_t range_uj,
					double elapsed_s, uint64_t *ret_uj);

/*
 * Whether a counter of that range may have wrapped twice in elapsed_s, so that its values cannot be
 * compared. Pure.
 */
bool meter_rapl_is_ambiguous(uint64_t range_uj, double elapsed_s);
