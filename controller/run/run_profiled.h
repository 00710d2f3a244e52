/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "controller/run/run_estimate.h"
#include "controller/run/run_session.h"

/*
 * What a profile has found out so far, as it is on record in the run's store (store_profile.h): written there
 * as it is made, and read from there by a profile that goes on, so that nothing is measured twice or missing.
 * Its results are made of this alone.
 */
struct run_profiled {
	struct run_session *session; /* borrowed */
	GArray *measurements;        /* struct run_measurement, in the order of their ends */
	GPtrArray *holes;            /* struct run_hole, by type, then cluster */
	/* Of the sessions before this one, and of all, up to the last measurement. */
	struct run_profiled_sums {
		double span_s;
		double busy_s; /* CPU time of this machine */
		double idle_j; /* of all hosts, at their idle watts */
	} before, sums;
};

/* A pair of type and cluster that was given up before it had all of its measurements. */
struct run_hole {
	uint32_t type, cluster;
	char *reason;
};

/*
 * Reads the record into `profiled`. Measurements of what the configuration has no more, or has otherwise, are
 * forgotten; so is that a pair was given up under another `experiment.task_deadline_s`, or, where the session is to
 * try these again (`retries`), not by a deadline: it is tried again. All are told. False with `error`: the store cannot be read or written. run_profiled_clear() in any case.
 */
bool run_profiled_init(struct run_profiled *profiled, struct run_session *session, GError **error);
void run_profiled_clear(struct run_profiled *profiled);

/* Whether the record has pairs that run_profiled_init() would have tried again for another deadline. */
bool run_profiled_has_more(struct run_session *session);

/* Whether it has pairs that were given up as stalled or lost, or for nodes that were down: they may work later. */
bool run_profiled_has_lost(struct run_session *session);

/* How the reasons name the deadline that ended a task: the pair would end alike, however often it is tried. */
#define RUN_PROFILED_DEADLINE "its deadline (experiment.task_deadline_s)"
#define RUN_PROFILED_LONGEST "the longest that a measurement may take"

/* Records a measurement, and `sums` of this session so far. False with `error`: it is not on record. */
bool run_profiled_add(struct run_profiled *profiled, const struct run_measurement *measurement,
		      const struct run_profiled_sums *sums, GError **error);

/* Records that a pair is given up, and why. */
bool run_profiled_give_up(struct run_profiled *profiled, uint32_t type, uint32_t cluster,
			  const char *reason, GError **error);

/* Why the pair was given up; NULL: it was not. */
const char *run_profiled_hole(const struct run_profiled *profiled, uint32_t type, uint32_t cluster);

/* The measurements of pairs that were not given up: GArray of struct run_measurement, the caller's. */
GArray *run_profiled_counting(const struct run_profiled *profiled);

/* Mean busy cores of this machine, and mean idle watts of all hosts, while it was measured; NAN: not known. */
double run_profiled_host_load(const struct run_profiled *profiled);
double run_profiled_idle_w(const struct run_profiled *profiled);
