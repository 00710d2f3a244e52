/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Divides the energy of a host. The energy that a host's meter counted over an interval is split in
 * whole microjoules, so that the parts add up exactly:
 *
 *  meter = idle + sum over tasks + management + unattributed
 *
 * - idle: the baseline's watts over the interval's duration, rounded down, and at most what the
 *  meter counted. If the meter shows less than idle, all of it is idle; no debt is carried over to
 *  later intervals.
 * - the rest, which is dynamic, by CPU time measured in the interval: each task by the CPU time of
 *  its VMs on the host, management by that of the others (VMs without a task, and processes that
 *  are no VMs, if that is known). Fractions are rounded down; the remaining microjoules go one each
 *  to the largest remainders, among equals to the earlier task, and to management last.
 * - unattributed: the dynamic part if it cannot be attributed: no CPU time was read, none was used,
 *  or the meter only estimates.
 *
 * Pure. Any numbers are allowed, since products are 128 bits wide.
 */

/* One task of an interval. */
struct energy_part {
	uint64_t cpu_ns;
	uint64_t uj; /* result: its part */
};

/* An interval of one host. */
struct energy_interval {
	uint64_t meter_uj; /* rise of its counter */
	uint64_t duration_ns;
	uint64_t idle_mw;       /* idle baseline */
	bool known;             /* CPU times were read, and the meter measured */
	uint64_t management_ns; /* CPU time without a task */
};

struct energy_split {
	uint64_t idle_uj;
	uint64_t tasks_uj; /* sum of the parts */
	uint64_t management_uj;
	uint64_t unattributed_uj;
};

/* Splits `interval` and sets `uj` of the `count` parts. Cannot fail. */
struct energy_split energy_split(const struct energy_interval *interval, struct energy_part *parts,
				 size_t count);
