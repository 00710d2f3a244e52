/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * Power and CPU use of a host of a simulated cluster: the sums over its tasks, integrated over
 * time. Pure.
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
