/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "controller/sched/model.h"

/*
 * Users who react: each submits a task, waits for its end, thinks, and submits the next one. How
 * fast tasks arrive then depends on how fast they end: a closed system, and with further tasks that
 * arrive at their own times a partly open one (Schroeder, Wierman and Harchol-Balter, "Open versus
 * closed: a cautionary tale", NSDI 2006). A list of tasks is replayed with the think times between
 * the end of one and the submission of the next, instead of with its arrivals, as Zakay and
 * Feitelson preserve the behaviour of users in a trace ("Preserving user behavior characteristics in
 * trace-based simulation of parallel job scheduling", MASCOTS 2014); here a user waits for each
 * task rather than for batches of them.
 *
 * The tasks and think times of a user are given, or drawn; they depend on the seed, the trial, the
 * user and the number of the task alone, so that every policy, limit and repeat meets the same
 * users.
 */
struct workload_users;

/*
 * The users of a configuration whose workload has some; `config` and `system` are borrowed for the
 * life of the result. NULL: it has none.
 */
struct workload_users *workload_users_new(const struct config *config,
					  const struct sched_system *system, uint64_t seed,
					  uint32_t trial);

/* NULL is allowed. */
void workload_users_free(struct workload_users *users);

uint32_t workload_users_count(const struct workload_users *users);

/* The most tasks that all users may submit. */
uint32_t workload_users_tasks_max(const struct workload_users *users);

/*
 * Task number `n`, from 0, of a user: fills *ret_task, but its id and its arrival, and
 * *ret_think_s, the time in seconds from the end of the task before until it is submitted; of task
 * 0 from the beginning of the run. Returns false: there is no such task. O(1).
 */
bool workload_users_task(const struct workload_users *users, uint32_t user, uint32_t n,
			 struct sched_task *ret_task, double *ret_think_s);

/* Nothing is submitted from then on, in seconds since the beginning of the run; may be INFINITY. */
double workload_users_until_s(const struct workload_users *users);

/* Makes users think `times` as fast as before, > 0. */
void workload_users_hurry(struct workload_users *users, double times);
