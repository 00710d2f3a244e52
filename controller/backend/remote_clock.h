/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A local scheduler's clock in terms of ours. On the same boot of the same machine both are one
 * clock. Elsewhere every answer's `now_ns` (docs/reference/api.md) gives one reading of the offset that is
 * too large by the way the answer took; the smallest offset of the last one to two minutes is the
 * best of them, and its window lets the clocks drift (some tens of ppm) without ever being asked to
 * agree.
 */
struct remote_clock {
	bool same;               /* one clock: nothing to translate */
	bool known;              /* an offset was observed */
	int64_t window_start_ns; /* of our clock */
	int64_t current_ns;      /* smallest offset (ours - theirs) of this window */
	int64_t previous_ns;     /* ... of the one before, INT64_MAX: none */
};

/* More than any clock shows (146 years), and too little for sums with an offset to overflow. */
#define REMOTE_CLOCK_MAX_NS (INT64_C(1) << 62)

/* Clocks of two hosts agree to milliseconds here: what is told of later than that never was. */
#define REMOTE_CLOCK_AHEAD_MAX_NS (5 * INT64_C(1000000000))

/* Starts over; `same` says whether the peer reports our own boot id. */
void remote_clock_init(struct remote_clock *clock, bool same);

/* Takes note of an answer that said `theirs_ns` and was read at `ours_ns`. */
void remote_clock_observe(struct remote_clock *clock, int64_t theirs_ns, int64_t ours_ns);

/* The reading of our clock at the peer's `theirs_ns`; unchanged before the first observation. */
int64_t remote_clock_ours_ns(const struct remote_clock *clock, int64_t theirs_ns);
