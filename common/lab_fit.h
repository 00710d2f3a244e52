/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "common/machine_probe.h"

/*
 * Fits the lab of a configuration to a machine (lab.fit), so that the same experiment takes about
 * the same time everywhere:
 *
 *   quotas        max_mhz of clusters on blades and cpu_cores of blades are multiplied by a, at
 *                 most 1, such that all VMs may use CONFIG_LAB_HOST_SHARE of the cores that the
 *                 machine has for a lab, less what the metronome takes
 *   repetitions   of types are multiplied by a x speed: tasks last as long as elsewhere; at least 1
 *   experiment    where types of 1 repetition cannot shrink, and workload.tasks is given:
 *                 profile_repeats shrinks where the mean arriving task lasts more than
 *                 LAB_FIT_LONGER times as long, and workload.tasks where it lasts more than
 *                 LAB_FIT_MUCH_LONGER times as long. Neither goes below LAB_FIT_REPEATS or
 *                 LAB_FIT_TASKS, or what the configuration has if less
 *   patience      is 1 / (a x speed), at least 1: boots and others of the machine's own take so
 *                 much longer
 *
 * Memory stays as it is.
 */

/*
 * Tasks may last so many times as long before fewer of them are measured, and before fewer arrive
 * in a run.
 */
#define LAB_FIT_LONGER 1.5
#define LAB_FIT_MUCH_LONGER 3.0

/*
 * The fewest tasks in a run, and measurements of a pair of type and cluster, that still tell
 * policies apart.
 */
#define LAB_FIT_TASKS 36
#define LAB_FIT_REPEATS 3

/* What fitting did. */
struct lab_fit {
	double quotas;  /* a */
	double work;    /* a x speed */
	char **notices; /* lines for people: what had to shrink, and what could not */
};

/*
 * Fits `config` to `probe`: lab.fit is `no` from then on. Pure. Returns true, with *ret_fit the
 * caller's to clear, or false with `error` (CONFIG_ERROR_MEANING) and `config` half changed where
 * the machine is too small; the message begins with a key. Does nothing, with factors of 1, where
 * nothing is to be fitted.
 */
bool lab_fit(struct config *config, const struct machine_probe *probe, struct lab_fit *ret_fit,
	     GError **error);

/* Frees what it points to. */
void lab_fit_clear(struct lab_fit *fit);
