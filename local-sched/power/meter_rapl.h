/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * RAPL: the energy counters of this machine's CPU packages, by the kernel's powercap files. They
 * exclude most of an idle machine's power (memory, disks, fans, losses): the watts are those of the
 * CPUs, never of the host, and every display of them says so.
 *
 * The counters wrap at max_energy_range_uj. One wrap between two samples is corrected. Two samples
 * between which there may have been two wraps are not compared. These are no readings: a counter
 * that falls although its range is not known, that jumps by more than a package can draw, or that
 * stands still (a package in use always draws power).
 *
 * Needs root (CVE-2020-8694: the kernel hides the counters from other users).
 */

/* The most that a package draws, in watts; a higher value is an error. */
#define METER_RAPL_PACKAGE_MAX_W 1000.0

/* The meaning of two values of a package's counter. */
enum meter_rapl_verdict {
	METER_RAPL_OK = 0,
	METER_RAPL_STILL, /* it did not move */
	METER_RAPL_FELL,  /* it fell, and its range is unknown or it was above it */
	METER_RAPL_JUMP,  /* it rose by more than a package can draw */
};

/*
 * The microjoules between two values that are `elapsed_s` > 0 apart in time. A fall is one wrap of
 * a counter from 0 to range_uj (0: not known). *ret_uj is set only for METER_RAPL_OK. Pure.
 */
enum meter_rapl_verdict meter_rapl_rise(uint64_t before_uj, uint64_t now_uj, uint64_t range_uj,
					double elapsed_s, uint64_t *ret_uj);

/*
 * Whether a counter of that range may have wrapped twice in elapsed_s, so that its values are not
 * comparable. Pure.
 */
bool meter_rapl_is_ambiguous(uint64_t range_uj, double elapsed_s);
