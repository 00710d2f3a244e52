/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/immediate.h"

/*
 * The comparison heuristics of Machovec 2017, III.C, which take mappable tasks one by one and use
 * neither the value of a placement nor preemption: a task goes to idle nodes where it earns
 * something, or stays mappable. P-state 0, or for a suspended task its own.
 *
 * Cost of an event beside immediate.h: n for the order of n mappable tasks, then a look at the
 * clusters per task until nothing is idle.
 */

/* In order of arrival, each in the first cluster in configured order ("an arbitrary idle core"). */
int immediate_fcfs(struct immediate *immediate);

/*
 * In random order, each on a random idle core of those where it earns something: the draws depend
 * only on the snapshot's seed and the number of the event. A task of several nodes also takes the
 * idle nodes that follow the drawn one, or those from the lowest on.
 */
int immediate_random(struct immediate *immediate);
