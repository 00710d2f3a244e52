/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/run/run_session.h"

/*
 * What suspending and resuming takes: on every cluster a task that runs is suspended and resumed
 * again and again, its VMs kept in memory and on disk, as the cluster's configuration allows. All
 * clusters at once, like a profile.
 */

/* What was measured. */
struct run_overheads {
	GArray *samples; /* of struct config_overhead; their strings are borrowed */
	json_t *list;    /* the same with what each VM took, for profile.json */
};
void run_overheads_clear(struct run_overheads *overheads);

/* Whether the experiment preempts, so that its overheads are to be known. */
bool run_overhead_wanted(const struct run_session *session);

/*
 * Measures what is not on record yet, and fills *ret_overheads with all, which the caller clears. `estimates` say which type runs for
 * long enough. Returns true, or false with `error` (RUN_ERROR_MEASURE: a cluster cannot).
 */
bool run_overhead_measure(struct run_session *session, const struct config_estimate *estimates,
			  uint32_t count, struct run_overheads *ret_overheads, GError **error);
