/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whose energy was it? What a host's meter counted over an interval is split, in whole microjoules,
 * so that the parts are exactly the whole:
 *
 *   meter = idle + sum over tasks + management + unattributed
 *
 * - idle: the baseline's watts over the interval's time, rounded down, and never more than the meter
 *   counted. Where the meter shows less than idle all of it is idle; nothing is owed to later intervals.
 * - the rest, which is dynamic, by CPU time measured in the interval: each task by what its VMs on the
 *   host had, management by what others had (VMs without a task, and what is no VM where that is known).
 *   Shares are rounded down; the microjoules that are left go one each to the largest remainders, among
 *   equals to the earlier task, and management last.
 * - unattributed: the dynamic part where nothing says whose it was: no CPU time was read, none was used,
 *   or the meter itself only estimates.
 *
 * Pure; any numbers do, since products are 128 bits wide.
 */

/* One task of an interval. */
struct energy_part {
	uint64_t cpu_ns;
	uint64_t uj; /* set: its part */
};

/* An interval of one host. */
struct energy_interval {
	uint64_t meter_uj;      /* that its counter rose by */
	uint64_t duration_ns;
	uint64_t idle_mw;       /* baseline */
	bool known;             /* CPU times were read, and the meter measured */
	uint64_t management_ns; /* CPU time of no task */
};

struct energy_split {
	uint64_t idle_uj;
	uint64_t tasks_uj; /* sum over the parts */
	uint64_t management_uj;
	uint64_t unattributed_uj;
};

/* Splits `interval`; sets `uj` of the `count` parts. Cannot fail. */
struct energy_split energy_split(const struct energy_interval *interval, struct energy_part *parts,
				 size_t count);
