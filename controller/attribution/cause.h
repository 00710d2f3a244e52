/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/*
 * The causes for which a measured run differs from a simulated one, in the order in which they are
 * shown (docs/explanation/attribution.md). Each is a switch of a simulation: off, it is as the
 * simulated side has it, on, as it was measured.
 */
enum cause {
	CAUSE_TIMES = 0,  /* execution times, and the estimates */
	CAUSE_LAUNCH,     /* from the decision until all ranks run */
	CAUSE_SUSPENSION, /* suspensions, resumptions and migrations */
	CAUSE_LOST,       /* lost attempts, failed tasks, nodes that are down */
	CAUSE_METERING,   /* power of tasks, and of hosts beside them; the limit */
	CAUSE_MOMENTS,    /* when decisions are made */
	CAUSE_ARRIVALS,   /* the tasks that arrive, and the duration */
	CAUSES
};

/* A set of causes: bit 1 << cause. */
typedef unsigned int cause_set;
#define CAUSE_SETS (1u << CAUSES)

/* "execution times", as in tables and sentences, and "execution_times", as in JSON. */
extern const char *const cause_titles[CAUSES];
extern const char *const cause_keys[CAUSES];
