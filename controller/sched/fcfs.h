/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/mapping.h"

/*
 * The framework of the heuristics that take tasks in order (Machovec 2018, 3.4): each task goes to
 * the cluster where it can start earliest at P-state 0, the first in configured order among equals.
 * A task that can start now does so, wherever that delays no planned start; another task gets a
 * reservation as long as one may be given. Options that energy forbids (energy.h) are not
 * considered.
 *
 * Cost of an event with n mappable tasks and c clusters: n x c queries of a schedule
 * (availability.h), and one choice of nodes per placement.
 */

/* Whether and where a task can go. */
struct fcfs_place {
	const struct sched_option *option; /* NULL: nowhere */
	double start_s;                    /* INFINITY: nowhere */
	enum sched_refusal refusal;        /* TAKEN: it can start by the end of the day */
	bool costly;                       /* an option was left out because of its energy */
};

/* Finds the placement of a task. */
struct fcfs_place fcfs_find(struct mapping *mapping, const struct sched_task *task);

/*
 * Notes the options of a task for --explain. The option in `place` gets the refusal of `place`.
 * Returns 0, or -ENOMEM.
 */
int fcfs_explain(struct mapping *mapping, const struct sched_task *task,
		 const struct fcfs_place *place);

/*
 * Maps tasks in the order of mapping->tasks, without overtaking: the first task that cannot start
 * now gets a planned start and all tasks behind it wait. Without --explain it costs only up to that
 * task. Returns 0, or -ENOMEM.
 */
int fcfs_map_in_turn(struct mapping *mapping);

/*
 * Maps tasks in the order of mapping->tasks with up to `reservations` new reservations. Returns 0,
 * or -ENOMEM.
 */
int fcfs_map(struct mapping *mapping, uint32_t reservations);
