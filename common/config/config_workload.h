/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/* Arrivals and utility functions (Machovec 2018, section 6.2). */
struct config_workload {
	double arrival_mean_s; /* mean of the exponential inter-arrival time */
	double duration_s;     /* arrivals happen in [0, duration_s) */
	/*
	 * Instead of these, both 0 unless given: the work that arrives over what all clusters can
	 * do in that time, and the mean number of tasks. The two above follow from the estimates
	 * then.
	 */
	double load;
	double tasks;
	uint64_t seed;         /* default 1 */
	uint32_t *utility_max; /* maxima drawn from uniformly; utility_max_count of them */
	uint32_t utility_max_count;
	double constant_until; /* x minimum execution time of the type, from arrival; default 2.5 */
	double zero_at;        /* x minimum execution time; default 4 */
};

/* The rows of the structures above. */
extern const struct config_section config_workload_section;
