/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/config/config.h"
#include "local-sched/launch/task.h"

/*
 * How long a task takes on a simulated cluster and what it draws: its execution time is drawn from a
 * normal distribution with the mean and the deviation of the configuration's estimate (etc_s, etc_sd_s)
 * by the cluster's seed and the task's id alone, so that it is the same whenever it is asked; the energy
 * of the estimate is spread evenly over it. A script, which nobody can estimate, takes all the time that its
 * type allows (config_expectation()). Pure.
 */
struct simulated_run {
	double time_s; /* in real time, > 0 */
	double watts;  /* above the hosts' idle ones, while it runs */
};

/* False: nothing is expected of the task's type on `cluster`. */
bool simulated_run_find(const struct config *config, const struct config_cluster *cluster,
			const struct task *task, struct simulated_run *ret_run);
