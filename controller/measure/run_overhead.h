/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "common/config/config.h"
#include "controller/session/run_session.h"

/*
 * Measures the overhead of suspending and resuming: on every cluster a running task is suspended
 * and resumed several times, its VMs kept in memory and on disk, as the cluster's configuration
 * allows. All clusters are measured at once, like a profile.
 */

/* The measured overheads. */
struct run_overheads {
	GArray *samples; /* struct config_overhead elements */
	json_t *list;    /* the same with the overhead of each VM, for profile.json */
};
void run_overheads_clear(struct run_overheads *overheads);

/* Whether the experiment preempts, so that it needs overheads. */
bool run_overhead_wanted(const struct run_session *session);

/*
 * Measures the overheads that are not in the store yet, and sets *ret_overheads to all of them; the
 * caller clears it. `estimates` (`count` elements) say which type runs for long enough. Returns
 * true, or false with `error` (RUN_ERROR_MEASURE: a cluster cannot suspend).
 */
bool run_overhead_measure(struct run_session *session, const struct config_estimate *estimates,
			  uint32_t count, struct run_overheads *ret_overheads, GError **error);
