/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/sched/queueing.h"

/* What queueing.c and queueing_times.c share. */

/* The bin of a time, down. */
int64_t queueing_bin(const struct queueing *queueing, double time_s);

/* To 2^-30, and bins to 2^-20. */
double queueing_round_chance(double chance);
double queueing_round_time(double bins);

/* Adds the DROP of a task. */
void queueing_drop(struct queueing *queueing, const struct sched_task *task, double chance,
		   double threshold, enum sched_reason reason);

/* Works out the pairs of a machine with all tasks that are not out. */
void queueing_pair_all(struct queueing *queueing, uint32_t machine);
