/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config_key.h"

/* Limits closer than this are one and the same, in tables and file names too. */
#define CONFIG_LIMITS_DIFFER 1e-6

/* The shortest time between two mapping events, in seconds: the engine goes from one to the next. */
#define CONFIG_MAPPING_INTERVAL_MIN_S 1e-3

/* Policies x limits x repeats: no policy and no limit appears twice. */
struct config_experiment {
	char **policies;
	uint32_t policies_count;
	double *limits; /* fractions of the budget, each in (0, 1] */
	uint32_t limits_count;
	double budget_j; /* 100 %; 0: what an unlimited max-upr run is simulated to use */
	double mapping_interval_s;
	double duration_s; /* a run ends at this time at the latest */
	/* Instead of these, 0 unless given: x the mean execution time; x workload.duration_s. */
	double mapping_interval;
	double duration;
	uint32_t repeats;         /* of the same workload; default 1 */
	double baseline_s;        /* idle time metered before each run; default 10 */
	uint32_t profile_repeats; /* measurements per type and cluster; default 3 */
	/* a task that runs longer is killed and fails; default 10 x its ETC */
	double task_deadline_s;
};

/* The rows of the structures above. */
extern const struct config_section config_experiment_section;
