/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/mapping.h"

/*
 * The framework of the utility-aware heuristics (Machovec 2018, 3.5): repeatedly place the option
 * with the highest objective of all mappable tasks, clusters and P-states, each at its earliest
 * start. Options that earn nothing, would start after the end of the day, or that energy forbids
 * (energy.h) are not placed.
 *
 * Placements only take nodes away, so starts only move later and objectives only fall. So the
 * options wait in a heap ordered by values that may be out of date, which are upper bounds, and
 * only the top option is brought up to date: the decisions are those of a full rescan after every
 * placement. A task enters the heap as a whole, with a bound for all its options, and is split into
 * its options when it comes to the top. Options that the filter refuses wait in a second heap,
 * least energy first, until the fair share has grown enough.
 *
 * Cost of an event with n mappable tasks of which p are placed, o options (clusters x P-states) per
 * task, and s steps in the schedule of a cluster of m nodes: n log n for the bounds; for a task
 * that comes to the top o log n and about one query of the schedule (availability.h, up to s x s x
 * m / 64, mostly s) for it and each option that a placement made out of date; s x m / 64 per
 * placement. A plain rescan takes p x n x o such queries. With trim, tasks are only considered
 * while one of them can still start before the next event.
 */

/* The objective measures, equations (2) to (5). */
enum greedy_objective {
	GREEDY_UTIL = 0,
	GREEDY_UPT, /* per execution time, 1/s */
	GREEDY_UPR, /* per core-second */
	GREEDY_UPE, /* per joule */
};

/* The value of the objective for an option that earns `utility`. An EEC of 0 makes UPE infinite. */
double greedy_value(enum greedy_objective objective, double utility,
		    const struct sched_option *option);

/*
 * Maps the tasks of mapping->tasks that can be mapped. `trim`: leave out place-holders that do not
 * matter once no task can start before the next mapping event; no effect with reservations. Returns
 * 0, or -ENOMEM.
 */
int greedy_map(struct mapping *mapping, enum greedy_objective objective, bool trim);

/*
 * Maps by UPR until the energy `committed_j`, to which every placement adds its EEC, reaches
 * `energy_target_j`, and by UPE from then on (3.6.3). The test follows each placement.
 * *ret_switched tells whether the switch happened. `trim` and result as greedy_map().
 */
int greedy_map_switching(struct mapping *mapping, double committed_j, double energy_target_j,
			 bool trim, bool *ret_switched);
