/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "common/platform.h"

/*
 * Wall time of a run's events. A run counts seconds of the boot clock since its start. Their UTC
 * follows the clock as it is set now, since the clock may have been wrong when the run began: a
 * service runs for months. As long as the clock is not set, the same second always has the same
 * text.
 */
struct run_utc;

struct run_utc *run_utc_new(const struct platform *platform);
/* NULL is allowed. */
void run_utc_free(struct run_utc *utc);

/*
 * The start of a run that began at `t0_ns` (common/clock.h), in microseconds since 1970. It changes
 * only if the wall clock was set by a tenth of a second or more.
 */
int64_t run_utc_zero_us(struct run_utc *utc, int64_t t0_ns);

/*
 * `time_s` after `zero_us` as "2026-01-31T23:59:59.123Z", which the caller frees; NULL if it is not
 * finite, or its year does not have four digits.
 */
char *run_utc_text(int64_t zero_us, double time_s);
