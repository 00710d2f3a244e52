/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/platform.h"
#include "local-sched/launch/task.h"
#include "local-sched/power/power_meter.h"

/*
 * A host of a simulated cluster: its power and CPU use, which are the sums over its tasks,
 * integrated over time; what a task adds to them, and for how long; and the meter that reads them.
 * All is pure but the meter.
 */

/* Energy and CPU time up to a moment, or over an interval. */
struct simulated_use {
	double energy_j;
	double cpu_s;
};

struct simulated_host {
	double watts;
	double cores;             /* busy cores */
	struct simulated_use use; /* up to at_ns */
	int64_t at_ns;
};

/* Initialises an idle host that draws `idle_w` from now on (platform_now_ns()). */
void simulated_host_init(struct simulated_host *host, double idle_w, int64_t now_ns);

/* Adds `watts` and busy `cores` to the host's load from now on; negative values subtract. */
void simulated_host_load(struct simulated_host *host, int64_t now_ns, double watts, double cores);

/* The host's use since its initialisation. */
struct simulated_use simulated_host_use(const struct simulated_host *host, int64_t now_ns);

/* Adds `factor` times `more`. */
void simulated_use_add(struct simulated_use *use, struct simulated_use more, double factor);

/*
 * Execution time and power of a task on a simulated cluster. The execution time is drawn from a
 * normal distribution with the mean and the deviation of the configuration's estimate (etc_s,
 * etc_sd_s). It depends only on the cluster's seed and the task's id, so every call gives the same
 * time. The estimated energy is spread evenly over it. A script, for which there is no estimate,
 * takes all the time that its type allows (config_expectation()).
 */
struct simulated_run {
	double time_s; /* in real time, > 0 */
	double watts;  /* above the hosts' idle power, while it runs */
};

/* False: the configuration has no estimate for the task's type on `cluster`. */
bool simulated_run_find(const struct config *config, const struct config_cluster *cluster,
			const struct task *task, struct simulated_run *ret_run);

/*
 * The meter of a host of a simulated cluster: the mean watts since the last reading. `host` is
 * borrowed until the meter is closed.
 */
struct power_meter *meter_simulated_new(const struct platform *platform,
					const struct simulated_host *host);
