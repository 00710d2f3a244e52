/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"
#include "local-sched/cpu/cap_originals.h"
#include "local-sched/cpu/host_knob.h"

/*
 * The highest frequency of a machine's CPUs (Machovec 2018, Table 4: each cluster has one), by the
 * kernel's cpufreq: no boost, and scaling_max_freq of every CPU that is online. Main loop only; the
 * files answer at once.
 *
 * Boost comes first: a driver may set the maxima when it is switched. For a moment the maxima are
 * watched, and set again where they rose; the cap has then settled. From then on a maximum that
 * rises, or a CPU that runs faster (cpu_speed.h), proves the cap not effective, for good.
 */
struct cpu_freq;
typedef struct cpu_freq cpu_freq_t;

/*
 * Whether every CPU has a cpufreq driver whose cap is writable. If not, `error` names a CPU that
 * has none.
 */
bool cpu_freq_available(const char *sys_root, GError **error);

/*
 * Caps all CPUs at `max_mhz`, and switches boost off where there is a switch. Fills in two knobs,
 * whose texts the caller clears. A setting that failed is "not effective" there. Where the driver
 * has a table of frequencies, the highest entry up to max_mhz is set. The lowest frequency is set
 * where it is above max_mhz by CPU_FREQ_ROUNDING at most, and the highest where that is below
 * max_mhz; the knob's reason says so. Looks earlier than `settle_s` after the setting prove
 * nothing. `originals` is borrowed for the life of the result, which the caller frees. Never
 * returns NULL.
 */
struct cpu_freq *cpu_freq_apply(const struct platform *platform, const char *sys_root,
				const char *dev_root, uint32_t max_mhz, double settle_s,
				struct cap_originals *originals, struct host_knob *ret_frequency,
				struct host_knob *ret_boost);

/*
 * Reads the settings back, and how fast the CPUs run. Caps a CPU that came online. If there is no
 * evidence against the cap, it counts as effective once a CPU was seen busy.
 */
void cpu_freq_check(struct cpu_freq *freq, struct host_knob *frequency, struct host_knob *boost);

/*
 * When the next check should come at the latest, in seconds: soon while the cap settles or a CPU
 * looks too fast. G_MAXDOUBLE: any time will do.
 */
double cpu_freq_patience_s(const struct cpu_freq *freq);

/* Frees; the originals restore the settings. NULL is allowed. */
void cpu_freq_free(struct cpu_freq *freq);

/* Drivers that measure the frequency (intel_pstate) jitter by some percent. */
#define CPU_FREQ_TOLERANCE 0.05

/*
 * States have round names: 12 times 133.33 MHz is 1596 MHz in papers and 1600 in the kernel's
 * tables.
 */
#define CPU_FREQ_ROUNDING 0.01
