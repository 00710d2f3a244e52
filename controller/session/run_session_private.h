/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/config/config.h"
#include "controller/backend/remote_fleet.h"
#include "controller/run/run_plan.h"
#include "controller/session/run_progress.h"
#include "controller/session/run_session.h"
#include "controller/store/store.h"

/*
 * The inside of a session, for what carries it out: the rooms session, measure and service, and the
 * daemon. The API reads it by view.h.
 */
struct run_session {
	const struct platform *platform;
	char *dir;
	struct run_plan *plan;
	struct config *config;
	struct store *store;
	struct remote_fleet *fleet;
	struct run_progress *progress;
	bool go_on; /* an interrupted run may continue: its VMs and tasks still exist */
	/* pairs that were given up as stalled or lost are to be profiled once more */
	bool retries;
	int64_t run;           /* row id of the run under way; 0: none */
	int64_t t0_ns;         /* start of the run */
	struct run_utc *utc;   /* wall time of t0_ns; NULL: not needed */
	struct engine *engine; /* set while the engine runs, for requests about tasks; else NULL */
	struct recorder_store *recorder; /* of the run under way; NULL: none */
	bool store_failed;               /* the session was stopped because the store failed */
	struct run_service *service; /* the service under way; NULL: none, or it is an experiment */
	bool reload_wanted;          /* a reload was requested before the service began */
};
