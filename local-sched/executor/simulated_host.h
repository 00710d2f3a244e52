/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/*
 * What a host of a simulated cluster draws and computes: sums of what the tasks on it do, integrated
 * over time. Pure.
 */

/* Energy and CPU time up to some moment, or over a stretch. */
struct simulated_use {
	double energy_j;
	double cpu_s;
};

struct simulated_host {
	double watts;
	double cores; /* that are busy */
	struct simulated_use use; /* up to at_ns */
	int64_t at_ns;
};

/* A host that draws `idle_w` and has nothing to do, from now on (clock_now_ns()). */
void simulated_host_init(struct simulated_host *host, double idle_w, int64_t now_ns);

/* From now on it draws `watts` more (or less) and so many `cores` more (or fewer) are busy. */
void simulated_host_load(struct simulated_host *host, int64_t now_ns, double watts, double cores);

/* What it has used since it was made. */
struct simulated_use simulated_host_use(const struct simulated_host *host, int64_t now_ns);

/* Adds `factor` times `more`. */
void simulated_use_add(struct simulated_use *use, struct simulated_use more, double factor);
