/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/measure/run_estimate.h"
#include "controller/session/run_session.h"

/*
 * The results of a profile so far, as they are in the run's store (store_profile.h). They are
 * written when they are made, and a continued profile reads them, so that no measurement is
 * repeated or lost. The final results are computed from them alone.
 */
struct run_profiled {
	struct run_session *session; /* borrowed */
	/* struct run_measurement elements, in the order of their ends */
	GArray *measurements;
	/* types x clusters: why a pair was given up before it was fully measured, or NULL */
	char **holes;
	uint32_t holes_count; /* of those that are not NULL */
	/*
	 * Sums over the sessions before this one, and over all sessions up to the last measurement.
	 */
	struct run_profiled_sums {
		double span_s;
		double busy_s; /* CPU time of this machine */
		double idle_j; /* energy of all hosts at their idle watts */
	} before, sums;
};

/*
 * Reads the results from the store. Measurements of types or clusters that the configuration no
 * longer has, or has changed, are dropped. So is the mark of a pair that was given up under another
 * `experiment.task_deadline_s`, or, if the session retries (`retries`), for another reason than a
 * deadline: such a pair is measured again. A note is made of each. False with `error`: the store
 * cannot be read or written. The caller calls run_profiled_clear() in any case.
 */
bool run_profiled_init(struct run_profiled *profiled, struct run_session *session, GError **error);
void run_profiled_clear(struct run_profiled *profiled);

/*
 * Whether the store has pairs that run_profiled_init() would measure again because the deadline
 * changed.
 */
bool run_profiled_has_more(struct run_session *session);

/*
 * Whether it has pairs that were given up as stalled or lost, or because nodes were down: they may
 * work later.
 */
bool run_profiled_has_lost(struct run_session *session);

/* How reasons name the deadline that ended a task: another try would end in the same way. */
#define RUN_PROFILED_DEADLINE "its deadline (experiment.task_deadline_s)"
#define RUN_PROFILED_LONGEST "the longest that a measurement may take"

/*
 * Stores a measurement, and the `sums` of this session so far. False with `error`: it is not
 * stored.
 */
bool run_profiled_add(struct run_profiled *profiled, const struct run_measurement *measurement,
		      const struct run_profiled_sums *sums, GError **error);

/* Stores that a pair is given up, and why. */
bool run_profiled_give_up(struct run_profiled *profiled, uint32_t type, uint32_t cluster,
			  const char *reason, GError **error);

/* The reason why the pair was given up; NULL: it was not. */
const char *run_profiled_hole(const struct run_profiled *profiled, uint32_t type, uint32_t cluster);

/*
 * The measurements of pairs that were not given up: GArray of struct run_measurement, owned by the
 * caller.
 */
GArray *run_profiled_counting(const struct run_profiled *profiled);

/*
 * Mean busy cores of this machine, and mean idle watts of all hosts, during the measurements; NAN:
 * not known.
 */
double run_profiled_host_load(const struct run_profiled *profiled);
double run_profiled_idle_w(const struct run_profiled *profiled);
