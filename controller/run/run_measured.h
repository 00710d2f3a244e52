/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/engine/experiment.h"
#include "controller/run/run_session.h"

/* All measured runs of an experiment, and how far they are. */
struct run_series {
	struct run_session *session;
	struct experiment *experiment;
	struct experiment_trial trial;
	const struct workload *workload; /* of the trial */
	double budget_j;
	uint32_t total; /* policies x limits x repeats */
	uint32_t done;  /* of those, ended */
	uint32_t timed; /* runs done by this controller, and how long they took in all */
	double timed_s;
};

/*
 * One run, under `policy`, from its baseline to its end. With a number in `row` it is one that an
 * earlier controller began: it goes on, and the local schedulers are asked what became of its
 * tasks; otherwise `row` says limit and repeat, and is given the number. Fills in the rest of
 * `row`, whose strings are the caller's. An aborted run is recorded as far as that goes; what
 * aborted it is the error (RUN_ERROR_STOPPED, RUN_ERROR_MEASURE), as is a store that cannot be
 * written.
 */
bool run_measured(struct run_series *series, const struct policy *policy, struct store_run *row,
		  GError **error);
