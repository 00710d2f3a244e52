/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/platform.h"

/*
 * How fast a CPU ran between two looks at it, while it was busy. The sources, the best first:
 *
 * - APERF, MPERF and TSC, counters of the CPU (DEVICE_ROOT/cpu/N/msr): they count while it is busy.
 *   MPERF goes at the pace of the TSC, APERF at that of the CPU (Intel SDM 3B, 15.2; AMD APM 2,
 *   17.2).
 * - cpufreq/stats/time_in_state: the kernel's time in each of the driver's frequencies.
 * - the current frequency at both looks. One such value proves nothing: it may be that of a moment
 *   before the cap was set, or of a CPU that slept since.
 *
 * Where /proc/stat is there (beside /sys), the last two do not judge a CPU that was not busy, and
 * the last judges a CPU as faster only if it never slept.
 */

enum { CPU_SPEED_STATES_MAX = 64 };

/* What was read of a CPU at one moment. */
struct cpu_speed_look {
	int64_t at_us;   /* monotonic */
	uint64_t khz;    /* the current frequency; 0: not known */
	bool has_busy;   /* the next is known */
	uint64_t busy;   /* ticks of 10 ms */
	bool has_counts; /* the next three are known */
	uint64_t tsc, aperf, mperf;
	uint32_t states_count; /* 0: not known */
	struct {
		uint64_t khz;
		uint64_t ticks; /* of 10 ms */
	} states[CPU_SPEED_STATES_MAX];
};

/* Where a CPU's files are; all borrowed. */
struct cpu_speed_place {
	const struct platform *platform;
	const char *cpufreq;   /* its directory */
	const char *dev_root;  /* "/dev", or a test's */
	const char *proc_stat; /* the text of /proc/stat; NULL: not known */
	uint64_t number;       /* of the CPU */
};

enum cpu_speed {
	CPU_SPEED_UNKNOWN = 0, /* it was not busy, or nothing tells */
	CPU_SPEED_WITHIN,      /* it ran at the limit or slower */
	CPU_SPEED_PERHAPS,     /* it was faster at one moment */
	CPU_SPEED_FASTER,      /* it ran faster */
};

/* Reads what there is. Files that cannot be read are left out. */
void cpu_speed_look(const struct cpu_speed_place *place, struct cpu_speed_look *ret_look);

/* Whether the look tells anything of the CPU's speed. */
bool cpu_speed_tells(const struct cpu_speed_look *look);

/*
 * How fast the CPU ran from `before` to `after`, compared with `limit_khz`. `before` may be NULL,
 * for a first look. *ret_khz is the speed that speaks against the limit; 0: none does.
 */
enum cpu_speed cpu_speed_judge(const struct cpu_speed_look *before,
			       const struct cpu_speed_look *after, uint64_t limit_khz,
			       uint64_t *ret_khz);
