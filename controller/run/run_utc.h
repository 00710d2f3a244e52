/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Wall time of what happened in a run. A run counts seconds of the boot clock since its start; the UTC of them goes by
 * the clock as it is set now, which may not have been right when the run began: a service goes on for months. While
 * nobody sets it, the same second has the same text whenever it is asked for.
 */
struct run_utc;

struct run_utc *run_utc_new(void);
/* NULL is allowed. */
void run_utc_free(struct run_utc *utc);

/*
 * When a run that began at `t0_ns` (common/clock.h) did, in microseconds since 1970. It changes only where the wall clock
 * was set by a tenth of a second or more.
 */
int64_t run_utc_zero_us(struct run_utc *utc, int64_t t0_ns);

/*
 * `time_s` after `zero_us` as "2026-01-31T23:59:59.123Z", which the caller frees; NULL where it is not finite, or in no
 * year that has four digits.
 */
char *run_utc_text(int64_t zero_us, double time_s);
