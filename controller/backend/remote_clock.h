/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Converts a local scheduler's clock to ours. On the same boot of the same machine both are one
 * clock. Elsewhere every answer's `now_ns` (docs/reference/api.md) gives an estimate of the offset
 * that is too large by the travel time of the answer. The smallest offset of the last one to two
 * minutes is the best estimate; the window is so short that the clocks may drift by some tens of
 * ppm, and no synchronization is needed.
 */
struct remote_clock {
	bool same;               /* one clock: no conversion */
	bool known;              /* an offset was observed */
	int64_t window_start_ns; /* on our clock */
	int64_t current_ns;      /* smallest offset (ours - theirs) of this window */
	int64_t previous_ns;     /* smallest offset of the previous window; INT64_MAX: none */
};

/*
 * A time further ahead of our clock is impossible: clocks of two hosts agree to milliseconds here.
 */
#define REMOTE_CLOCK_AHEAD_MAX_NS (5 * INT64_C(1000000000))

/* Resets the clock; `same` says whether the peer reports our own boot id. */
void remote_clock_init(struct remote_clock *clock, bool same);

/* Adds an observation: an answer with `theirs_ns` was read at `ours_ns`. */
void remote_clock_observe(struct remote_clock *clock, int64_t theirs_ns, int64_t ours_ns);

/* The reading of our clock at the peer's `theirs_ns`; unchanged before the first observation. */
int64_t remote_clock_ours_ns(const struct remote_clock *clock, int64_t theirs_ns);
