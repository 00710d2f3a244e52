/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The energy of a host as a monotonic counter of integer microjoules, fed with power samples. Pure.
 * Between two samples the power is taken to change linearly (trapezoid). The remainder below one
 * microjoule is carried to the next interval, so the counter is the exact integral, rounded down:
 * every reader of the samples computes the same number.
 *
 * An interval longer than the gap limit is a gap. The power in it is unknown, so the larger of the
 * two powers is held over it (for an energy budget that errs on the safe side), and its energy is
 * also summed on its own. Without a sample nothing is added: an unknown power is not zero.
 */
struct energy_counter {
	uint64_t energy_uj; /* total, gap_uj included */
	uint64_t gap_uj;    /* the part that is estimated over gaps */
	int64_t covered_ns; /* time covered by trapezoids */
	int64_t gap_ns;     /* time covered by gaps */
	int64_t last_ns;    /* time of the last sample; valid if has_last */
	int64_t last_mw;
	uint32_t remainder; /* below one microjoule, in units of 0.5e-6 uJ, < 2,000,000 */
	bool has_last;
	int64_t gap_limit_ns; /* longer intervals are gaps, > 0 */
};

/* The effect of a sample on the counter. */
enum energy_counter_step {
	/* not later than the last sample, or negative: nothing changed */
	ENERGY_COUNTER_IGNORED = 0,
	ENERGY_COUNTER_FIRST,   /* the first sample: nothing to integrate yet */
	ENERGY_COUNTER_COVERED, /* a trapezoid was added */
	ENERGY_COUNTER_GAP,     /* a gap was added */
};

/* An interval of more than this many sampling intervals is a gap. */
enum { ENERGY_COUNTER_GAP_INTERVALS = 3 };

/* Initialises a counter at zero without a sample. interval_s: sampling interval, > 0. */
void energy_counter_init(struct energy_counter *counter, double interval_s);

/* Sets the gap limit from now on, for samples that are `interval_s` > 0 apart. */
void energy_counter_set_interval(struct energy_counter *counter, double interval_s);

/* Adds a sample: milliwatts >= 0 at a monotonic time in nanoseconds. */
enum energy_counter_step energy_counter_add(struct energy_counter *counter, int64_t t_ns,
					    int64_t mw);

/* Forgets the last sample, whose clock has ended (a reboot). The sums stay. */
void energy_counter_forget_last(struct energy_counter *counter);
