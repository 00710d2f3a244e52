/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/mapping.h"

/*
 * The framework of the utility-aware heuristics (paper 002, 3.5): again and again place the option
 * with the highest objective of all mappable tasks, clusters and P-states, each at its earliest
 * start. Options that earn nothing, or would start after the end of the day, are not placed.
 *
 * Placements only take room away, so starts only move later and objectives only fall. The options
 * therefore wait in a heap ordered by values that may be stale, and only the one at the top is
 * brought up to date: the decisions are those of a full rescan after every placement.
 */

/* The objective measures, equations (2) to (5). */
enum greedy_objective {
	GREEDY_UTIL = 0,
	GREEDY_UPT, /* per execution time, 1/s */
	GREEDY_UPR, /* per core-second */
	GREEDY_UPE, /* per joule */
};

/* The measure's value for an option that earns `utility`. An EEC of 0 makes UPE infinite. */
double greedy_value(enum greedy_objective objective, double utility,
		    const struct sched_option *option);

/*
 * Maps what can be mapped of mapping->tasks. `trim`: stop as soon as no task can start before the
 * next mapping event any more; of no effect with permanent reservations. Returns 0, or -ENOMEM.
 */
int greedy_map(struct mapping *mapping, enum greedy_objective objective, bool trim);
