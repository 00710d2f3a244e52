/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"

/* The utility functions of the tasks of a serial environment (Machovec 2017, section IV.C). */
enum config_utility {
	CONFIG_UTILITY_CLASSES = 0, /* one of 20 classes for each burst */
	CONFIG_UTILITY_STEP,
	CONFIG_UTILITY_DECAY, /* one class: constant, then one period of decay */
};

/*
 * Serial tasks that arrive in bursts, critical and ordinary ones, on clusters that are counted in
 * cores (Machovec 2017, section IV). Tasks use no energy.
 */
struct config_serial {
	/* a trial's clusters have nodes x (1 - spread) to (1 + spread); default 0.5 */
	double spread;
	double burst; /* mean number of tasks that arrive at once, from 1; default 64 */
	enum config_utility utility;
	double critical_share; /* of the task types, [0, 1]; default 0.2 */
	/* that critical tasks start with, ordinary ones with 1; default 8 */
	double critical_utility;
	double critical_mean_s; /* mean execution time of critical tasks; default 600 */
	double ordinary_mean_s; /* default 3000 */
	/* of the bursts, [0, 1]: their tasks may preempt others; default 1 */
	double may_preempt_share;
	/* of the bursts, [0, 1]: their tasks may be preempted; default 1 */
	double preemptible_share;
};

/* The names of enum config_utility, NULL-terminated. */
extern const char *const config_utilities[];

/* The rows of the structures above. */
extern const struct config_section config_serial_section;

/* What serial tasks do not go together with: NULL, or "KEY.PATH: ..." (the caller frees). */
char *config_serial_check(const struct config *config);
