/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Power from counters of energy whose pace and range are not known: those of a hwmon chip, of a
 * metered outlet or of another program. Some move every millisecond, others once a second or by a
 * whole watt-hour. The power of each counter is its rise from one of its steps to the next over the
 * time between them, so that a step is never taken for the energy of a shorter time: the first step
 * after the start only says when the counter moved. The powers of several counters, which step at
 * times of their own, are added; with a counter that stands still there is no sum. Pure.
 */
struct energy_steps_counter {
	uint64_t uj;     /* its value */
	int64_t step_ns; /* when it was seen to move; 0: not yet */
	double rise_j;   /* its last step */
	double apart_s;  /* the time from the step before to the last one; 0: not known */
};

struct energy_steps {
	struct energy_steps_counter *counters; /* `count` of them */
	uint32_t count;
	int64_t first_ns; /* since when they are compared; 0: nothing to compare with */
	int64_t seen_ns;  /* of the last values */
	uint32_t part;    /* the counter that the last verdict is about; `count`: all of them */
};

/* The meaning of new values of the counters. */
enum energy_steps_verdict {
	ENERGY_STEPS_OK = 0,
	/* the values before, or the times of two steps of a counter, are not known; ask again */
	ENERGY_STEPS_FIRST,
	ENERGY_STEPS_STILL, /* no counter has moved, or one stands still; ask again */
	ENERGY_STEPS_FELL,  /* one fell: it wrapped or was reset */
	ENERGY_STEPS_JUMP,  /* they rose by more than a machine can draw */
};

/* The most that a machine draws, in watts; counters that rise faster are wrong. */
#define ENERGY_STEPS_MAX_W 100000.0

/*
 * Values further apart are not compared: a counter of 32 bits in units of 15.3 uJ (amd_energy, one
 * per socket) wraps after 65536 J, which a socket of 400 W draws in 160 s.
 */
#define ENERGY_STEPS_APART_S 120.0

/* From one step of a counter to the next it takes less than this times as long as before. */
#define ENERGY_STEPS_STILL_TIMES 1.5

void energy_steps_init(struct energy_steps *steps, uint32_t count);
void energy_steps_clear(struct energy_steps *steps);

/*
 * Takes the counters (`count` of them, microjoules) at a monotonic time in nanoseconds. *ret_mw,
 * the milliwatts of all, each as a mean between its last two steps, is set only for
 * ENERGY_STEPS_OK. A counter stands still once it has not moved for ENERGY_STEPS_STILL_TIMES the
 * time between its last two steps, or where these are not known for ENERGY_STEPS_APART_S; until
 * then it counts for less and less. After a fall or jump of a counter its steps are counted from
 * there.
 */
enum energy_steps_verdict energy_steps_add(struct energy_steps *steps, const uint64_t *now_uj,
					   int64_t now_ns, int64_t *ret_mw);

/* What a fall, a jump or a still counter is called in messages. */
const char *energy_steps_words(enum energy_steps_verdict verdict);

/* Forgets the values: the next ones are the first. */
void energy_steps_forget(struct energy_steps *steps);
