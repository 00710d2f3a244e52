/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/mapping.h"

/*
 * The goal energy of the metaheuristics (Machovec 2018, 3.6.2): the budget consumed evenly over the
 * day. Cost: running tasks + planned starts.
 */

/* The energy that should be consumed by `time_s`; INFINITY without a budget. */
double energy_target_j(const struct sched_snapshot *snapshot, double time_s);

/*
 * The energy consumed, the rest of the running tasks' energy, and all energy of planned starts.
 * `placeholders`: include those of the last event, although they are dropped at this one.
 */
double energy_target_committed_j(const struct sched_snapshot *snapshot, bool placeholders);

/* Whether the event starts above the goal: then Max UPE is used, else Max UPR. */
bool energy_target_exceeded(const struct sched_snapshot *snapshot);

/*
 * Whether the choice at the next event is certain already, whatever place-holders this event makes:
 * POLICY_TRIM may then leave them out. Cost: one look at every mappable task.
 */
bool energy_target_next_is_certain(const struct mapping *mapping);
