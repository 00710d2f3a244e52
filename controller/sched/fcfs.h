/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/mapping.h"

/*
 * The framework of the backfilling heuristics (paper 002, 3.4): tasks in order of arrival, each in
 * the cluster where it can start earliest at P-state 0, the first one in configured order among
 * equals. A task that can start now does, wherever that delays nothing promised; another one gets a
 * reservation as long as there is one to give.
 */

/* Maps with up to `reservations` new reservations. Returns 0, or -ENOMEM. */
int fcfs_map(struct mapping *mapping, uint32_t reservations);
