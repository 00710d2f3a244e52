/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/host_knob.h"

/*
 * The highest frequency of a machine's CPUs (Machovec 2018, Table 4: each cluster has one), by the
 * kernel's cpufreq: scaling_max_freq of every CPU, and no boost above it. Main loop only; the files
 * answer at once.
 */

/*
 * Whether every CPU has a cpufreq driver whose cap is writable. If not, `error` names a CPU that
 * has none.
 */
bool cpu_freq_available(const char *sys_root, GError **error);

/*
 * Caps all CPUs at `max_mhz`, and switches boost off where there is a switch. Fills in two knobs,
 * whose texts the caller clears. A setting that failed is "not effective" there. Where the driver
 * has a table of frequencies, the highest entry up to max_mhz is set.
 */
void cpu_freq_apply(const char *sys_root, uint32_t max_mhz, struct cap_originals *originals,
		    struct host_knob *ret_frequency, struct host_knob *ret_boost);

/*
 * Reads the settings back, and the current frequency of the CPUs. A CPU that is faster than the
 * setting by more than CPU_FREQ_TOLERANCE proves the cap not effective, for good. If there is none,
 * the cap counts as effective until there is.
 */
void cpu_freq_check(const char *sys_root, struct host_knob *frequency, struct host_knob *boost);

/* Drivers that measure the frequency (intel_pstate) jitter by some percent. */
#define CPU_FREQ_TOLERANCE 0.05
