/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/queueing.h"

/* Shared by queueing.c and queueing_times.c, on which queueing.c depends. */

/* The bin of a time, rounded down. */
int64_t queueing_bin(const struct queueing *queueing, double time_s);

/* Round a chance to 2^-30, and bins to 2^-20. */
double queueing_round_chance(double chance);
double queueing_round_time(double bins);

/* Adds the DROP of a task. */
void queueing_drop(struct queueing *queueing, const struct sched_task *task, double chance,
		   double threshold, enum sched_reason reason);

/* Computes the pairs of a machine with all tasks that are not out. */
void queueing_pair_all(struct queueing *queueing, uint32_t machine);
