/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * The power model of an emulated blade: watts = idle_w + core_w x busy cores. The busy cores are
 * the CPU time that the blade's VMs used over the last LAB_POWER_WINDOW_NS, divided by that time.
 * Linear in utilisation, as measured blades are to a first approximation (Machovec 2018, section
 * 3.4 takes average power per task type).
 *
 * With speed compensation (lab_compensation.h), CPU time is divided by the factor: additional CPU
 * time on a slow machine is no additional work.
 *
 * A BMC gives the mean over a second too: its controller averages, and a reader at 1 Hz then misses
 * no load between two readings. Pure: readings come in, watts come out.
 */

#define LAB_POWER_WINDOW_NS INT64_C(1000000000)
enum { LAB_POWER_READINGS = 16 };

struct lab_power_reading {
	int64_t at_ns;
	uint64_t busy_ns; /* CPU time since the first reading, at a factor of 1 */
};

struct lab_power {
	double idle_w;
	double core_w;
	uint64_t counter_ns; /* the counter at the last reading */
	uint32_t count;
	struct lab_power_reading readings[LAB_POWER_READINGS]; /* oldest first */
};

/* Starts a model without readings. idle_w and core_w: watts, >= 0. */
void lab_power_init(struct lab_power *power, double idle_w, double core_w);

/*
 * Adds a reading of the VMs' CPU time counter (nanoseconds) at a monotonic time, and returns the
 * watts of the window that ends now: the idle watts at the first reading. The CPU time since the
 * last reading counts by `pace` (> 0; 1: unchanged). A counter below the last reading has restarted
 * from 0 (its group was removed and created again). A reading no later than the last one changes
 * nothing.
 */
double lab_power_update(struct lab_power *power, int64_t now_ns, uint64_t counter_ns, double pace);
