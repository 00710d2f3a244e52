/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config.h"
#include "common/machine_probe.h"

/*
 * Fits the lab of a configuration to a machine (lab.fit), so that the same experiment takes about the same time
 * everywhere:
 *
 *   quotas        max_mhz of clusters on blades and cpu_cores of blades are multiplied by a, at most 1, such that
 *                 all VMs may use CONFIG_LAB_HOST_SHARE of the cores that the machine has for a lab, less
 *                 what the metronome takes
 *   repetitions   of types are multiplied by a x speed: tasks last as long as elsewhere; at least 1
 *   experiment    where types of 1 repetition cannot shrink, and workload.tasks is given:
 *                 tasks and profile_repeats shrink by what tasks last longer than CONFIG_FIT_LONGER times, in the
 *                 mean of those that arrive; to CONFIG_FIT_TASKS and CONFIG_FIT_REPEATS, or what the configuration
 *                 has if less
 *   patience      is 1 / (a x speed), at least 1: boots and others of the machine's own take so much longer
 *
 * Memory stays as it is.
 */

/* So much longer an experiment may take before it shrinks. */
#define CONFIG_FIT_LONGER 1.5

/* Fewer tasks in a run, or measurements of a pair of type and cluster, tell too little. */
#define CONFIG_FIT_TASKS 30
#define CONFIG_FIT_REPEATS 3

/* What fitting did. */
struct config_fit {
	double quotas; /* a */
	double work;   /* a x speed */
	char **notices; /* lines for people: what had to shrink, and what could not */
};

/*
 * Fits `config` to `probe`: lab.fit is `no` from then on. Pure. Returns true, with *ret_fit the caller's to clear, or
 * false with `error` (CONFIG_ERROR_MEANING) and `config` half changed where the machine is too small; the message
 * begins with a key. Does nothing, with factors of 1, where nothing is to be fitted.
 */
bool config_fit(struct config *config, const struct machine_probe *probe, struct config_fit *ret_fit,
		GError **error);

/* Frees what it points to. */
void config_fit_clear(struct config_fit *fit);
