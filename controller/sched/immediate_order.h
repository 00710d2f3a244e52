/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/immediate.h"

/*
 * The comparison heuristics of Machovec 2017, III.C, which take mappable tasks one by one and know
 * neither the worth of a place nor preemption: a task goes to idle nodes where it earns something,
 * or stays mappable. P-state 0, or for a suspended task its own.
 *
 * Cost of an event beside immediate.h: n for the order of n mappable tasks, then a look at the
 * clusters per task until nothing is idle.
 */

/* In order of arrival, each in the first cluster in configured order ("an arbitrary idle core"). */
int immediate_fcfs(struct immediate *immediate);

/*
 * In an order by chance, each on an idle core by chance of those where it earns: the draws depend
 * on the snapshot's seed and the number of the event alone. A task of several nodes takes the idle
 * ones that follow the drawn one, too, or from the lowest on.
 */
int immediate_random(struct immediate *immediate);
