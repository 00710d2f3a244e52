/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "common/config/config.h"
#include "local-sched/launch/task.h"

/*
 * Execution time and power of a task on a simulated cluster. The execution time is drawn from a
 * normal distribution with the mean and the deviation of the configuration's estimate (etc_s,
 * etc_sd_s). It depends only on the cluster's seed and the task's id, so every call gives the same
 * time. The estimated energy is spread evenly over it. A script, for which there is no estimate,
 * takes all the time that its type allows (config_expectation()). Pure.
 */
struct simulated_run {
	double time_s; /* in real time, > 0 */
	double watts;  /* above the hosts' idle power, while it runs */
};

/* False: the configuration has no estimate for the task's type on `cluster`. */
bool simulated_run_find(const struct config *config, const struct config_cluster *cluster,
			const struct task *task, struct simulated_run *ret_run);
