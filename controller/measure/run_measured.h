/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "controller/experiment/experiment.h"
#include "controller/session/run_session.h"
#include "controller/store/store.h"

/* All measured runs of an experiment, and how many are done. */
struct run_series {
	struct run_session *session;
	struct experiment *experiment;
	struct experiment_trial trial;
	double budget_j;
	uint32_t total; /* policies x limits x repeats */
	uint32_t done;  /* number of those that have ended */
	uint32_t timed; /* runs done by this controller, and their total duration */
	double timed_s;
	const char *chosen; /* why the next run is made, as JSON: its event; NULL: it is planned */
};

/*
 * Carries out one run under `policy`, from its baseline to its end. If `row` has a number, an
 * earlier controller began the run: it continues, and the local schedulers are asked for the state
 * of its tasks. Otherwise `row` gives limit and repeat, and gets the number. Fills in the rest of
 * `row`, whose strings the caller owns. An aborted run is recorded as far as it went; the error
 * says why (RUN_ERROR_STOPPED, RUN_ERROR_MEASURE), or that the store cannot be written.
 */
bool run_measured(struct run_series *series, const struct policy *policy, struct store_run *row,
		  GError **error);
